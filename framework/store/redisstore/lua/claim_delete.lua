-- KEYS: claim. ARGV: what may be there; nothing is anything.
local held = #ARGV > 0 and redis.call('GET', KEYS[1])
local gone = #ARGV == 0
for i = 1, #ARGV do gone = gone or held == ARGV[i] end
if gone then redis.call('DEL', KEYS[1]) end
return 0
