-- KEYS: frames, number. ARGV: the number after which to begin. No list: one is gone.
-- Numbers of streams are far below 2^53; what is above is beyond the last in any case.
local last, seq = tonumber(redis.call('GET', KEYS[2]) or -1), tonumber(ARGV[1]) or math.huge
if seq > last then return 0 end
if seq == last then return {} end
local first = redis.call('HGET', KEYS[1], 'f')
if not first or seq + 1 < tonumber(first) then return 0 end
local out = {}
while seq < last do
  local names = {}
  for i = 1, math.min(last - seq, 1000) do names[i] = seq + i end
  seq = seq + #names
  for _, frame in ipairs(redis.call('HMGET', KEYS[1], unpack(names))) do
    if not frame then return 0 end
    out[#out + 1] = frame
  end
end
return out
