-- KEYS: line. ARGV: base, consumer, id, entry, count. 0: it is lost.
local id, entry = ARGV[3], ARGV[4]
if not mine(entry, ARGV[2], ARGV[5]) then return 0 end
if redis.call('HGET', base .. 'r:' .. id, 't') == entry then
  redis.call('HSET', base .. 'r:' .. id, 't', enqueue(id))
end
dequeue(entry)
return 1
