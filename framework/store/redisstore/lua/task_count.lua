-- KEYS: index of those of the owner that have not ended. ARGV: base.
sweep()
return redis.call('ZCOUNT', KEYS[1], digits(now()), '+inf')
