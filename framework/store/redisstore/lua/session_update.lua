-- KEYS: record. ARGV: version, principal, expiry, the same in milliseconds or empty, data.
-- 0: there is none. 2: it has another version. A list: it has another principal, this one.
local r = redis.call('HMGET', KEYS[1], 'v', 'p')
if not r[1] then return 0 end
if r[1] ~= ARGV[1] then return 2 end
if r[2] ~= ARGV[2] then return {r[2]} end
redis.call('HINCRBY', KEYS[1], 'v', 1)
redis.call('HSET', KEYS[1], 'e', ARGV[3], 'd', ARGV[5])
if ARGV[4] ~= '' then redis.call('PEXPIREAT', KEYS[1], ARGV[4]) else redis.call('PERSIST', KEYS[1]) end
return 1
