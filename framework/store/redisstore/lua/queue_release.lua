-- KEYS: line. ARGV: base, consumer, id, entry, count. 0: it is lost.
-- The old entry goes first, as in forget, so that a lease is given back without free memory.
local id, entry = ARGV[3], ARGV[4]
if not mine(entry, ARGV[2], ARGV[5]) then return 0 end
dequeue(entry)
if redis.call('HGET', base .. 'r:' .. id, 't') == entry then
  redis.call('HSET', base .. 'r:' .. id, 't', enqueue(id))
end
return 1
