-- KEYS: line. ARGV: base, consumer, then id and entry of each that was read.
-- For each, 1 if it is the turn of a record, and the lease begins again. The process may have
-- stood still since it read: what is another consumer's by now is 0. Entries of no record are
-- dropped.
local consumer, out = ARGV[2], {}
for i = 3, #ARGV, 2 do
  local entry, n = ARGV[i + 1], 0
  if redis.call('HGET', base .. 'r:' .. ARGV[i], 't') ~= entry then
    dequeue(entry)
  elseif mine(entry, consumer, 1) then
    n = #redis.call('XCLAIM', line, group, consumer, 0, entry, 'JUSTID')
  end
  out[#out + 1] = n
end
return out
