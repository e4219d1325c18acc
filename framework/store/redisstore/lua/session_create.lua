-- KEYS: record. ARGV: principal, expiry, the same in milliseconds or empty, data.
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], 'v', 1, 'p', ARGV[1], 'e', ARGV[2], 'd', ARGV[4])
if ARGV[3] ~= '' then redis.call('PEXPIREAT', KEYS[1], ARGV[3]) end
return 1
