-- KEYS: counter. ARGV: how much, life in milliseconds.
-- The sum comes as text: a number of Lua's has 53 bits.
redis.call('INCRBY', KEYS[1], ARGV[1])
if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return redis.call('GET', KEYS[1])
