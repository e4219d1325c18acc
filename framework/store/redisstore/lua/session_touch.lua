-- KEYS: record. ARGV: expiry, the same in milliseconds or empty. 0: there is none.
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], 'e', ARGV[1])
if ARGV[2] ~= '' then redis.call('PEXPIREAT', KEYS[1], ARGV[2]) else redis.call('PERSIST', KEYS[1]) end
return 1
