-- KEYS: line. ARGV: base, then id and entry of each that was read.
-- For each, 1 if it is the turn of a record. The others are dropped.
local out = {}
for i = 2, #ARGV, 2 do
  local ok = redis.call('HGET', base .. 'r:' .. ARGV[i], 't') == ARGV[i + 1]
  if not ok then dequeue(ARGV[i + 1]) end
  out[#out + 1] = ok and 1 or 0
end
return out
