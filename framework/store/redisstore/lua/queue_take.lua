-- KEYS: line. ARGV: base, consumer, how many at most, milliseconds after which a lease
-- runs out or 0 to take new ones only, cursor of those that ran out.
-- First the cursor, and whether to come again without waiting; then id, entry and count of
-- each.
local consumer, want, idle, cursor = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local out, more = {cursor, 0}, 0
local function left() return want - (#out - 2) / 3 end

-- hand drops what is not the turn of a record any more.
local function hand(entry, count)
  local id = entry[2] and entry[2][2]
  if not id or redis.call('HGET', base .. 'r:' .. id, 't') ~= entry[1] then return dequeue(entry[1]) end
  local n = #out
  out[n + 1], out[n + 2], out[n + 3] = id, entry[1], count
end

if idle > 0 then
  for i = 1, 16 do
    local r = redis.call('XAUTOCLAIM', line, group, consumer, idle, cursor, 'COUNT', left())
    cursor = r[1]
    for _, entry in ipairs(r[2]) do
      if entry then
        local p = redis.call('XPENDING', line, group, entry[1], entry[1], 1)[1]
        hand(entry, p and p[4] or 0)
      end
    end
    if left() == 0 or cursor == '0-0' then break end
  end
end
for i = 1, 16 do
  if left() == 0 then break end
  local r = redis.call('XREADGROUP', 'GROUP', group, consumer, 'COUNT', left(), 'STREAMS', line, '>')
  if not r then break end
  for _, entry in ipairs(r[1][2]) do hand(entry, 1) end
  more = 1
end
out[1], out[2] = cursor, more
return out
