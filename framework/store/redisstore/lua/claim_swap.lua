-- KEYS: claim. ARGV: value, life in milliseconds, what may be there.
local held = redis.call('GET', KEYS[1])
for i = 3, #ARGV do
  if held == ARGV[i] then
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return 1
  end
end
return 0
