-- KEYS: record. ARGV: expiry, the same in milliseconds or empty. 0: there is none.
-- PERSIST comes first because it takes no memory: without free memory, Redis refuses a script whose
-- first write takes some, and lets one go on that has begun.
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('PERSIST', KEYS[1])
redis.call('HSET', KEYS[1], 'e', ARGV[1])
if ARGV[2] ~= '' then redis.call('PEXPIREAT', KEYS[1], ARGV[2]) end
return 1
