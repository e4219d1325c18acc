-- KEYS: claim. ARGV: value, life in milliseconds. What is there already, or nothing.
local held = redis.call('GET', KEYS[1])
if held then return {held} end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return {}
