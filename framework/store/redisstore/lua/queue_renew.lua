-- KEYS: line. ARGV: base, consumer, id, entry, count. 0: it is lost.
local consumer, id, entry = ARGV[2], ARGV[3], ARGV[4]
if redis.call('HGET', base .. 'r:' .. id, 't') ~= entry or not mine(entry, consumer, ARGV[5]) then return 0 end
return #redis.call('XCLAIM', line, group, consumer, 0, entry, 'JUSTID')
