-- KEYS: record. ARGV: base, id.
local r = redis.call('HMGET', KEYS[1], 'o', 't')
if not r[1] then return 0 end
if r[2] ~= '' then dequeue(r[2]) end
forget(r[1], ARGV[2])
redis.call('DEL', KEYS[1])
return 1
