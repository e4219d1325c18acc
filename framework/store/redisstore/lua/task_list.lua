-- KEYS: index of the owner. ARGV: base, owner, id after which to begin or empty, number
-- after which to go on or empty, limit. First where to go on, empty at the end; then id,
-- version, time of creation and data of each.
local owner, after, from, limit = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
if from == '' and after ~= '' then
  from = redis.call('ZSCORE', KEYS[1], after)
  if not from then
    local gone = redis.call('GET', base .. 'g:' .. after)
    local colon = gone and string.find(gone, ':', 1, true)
    if not gone or string.sub(gone, colon + 1) ~= owner then return {''} end
    from = string.sub(gone, 1, colon - 1)
  end
elseif from == '' then
  from = '0'
end
local out, looked, bytes = {from}, 0, 0
while true do
  local page = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. from, '+inf', 'WITHSCORES', 'LIMIT', 0, 100)
  if #page == 0 then
    out[1] = ''
    return out
  end
  for i = 1, #page, 2 do
    if (#out - 1) / 4 >= limit or bytes > 1048576 or looked >= 1000 then
      out[1] = from
      return out
    end
    local r = redis.call('HMGET', base .. 'r:' .. page[i], 'o', 'v', 'c', 'd')
    looked, from = looked + 1, digits(tonumber(page[i + 1]))
    if r[1] == owner then
      local n = #out
      out[n + 1], out[n + 2], out[n + 3], out[n + 4] = page[i], r[2], r[3], r[4]
      bytes = bytes + #(r[4] or '')
    end
  end
end
