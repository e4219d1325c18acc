-- KEYS: record. ARGV: base, id, owner, working, live, expiry in milliseconds or 0, time of
-- creation, the same in milliseconds, data, most of those that have ended, their bytes, and
-- the bytes of those that have not.
-- 0: it exists. 3: there is no room.
local id, owner = ARGV[2], ARGV[3]
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
if ARGV[5] == '1' and not fits(owner, id, ARGV[9], tonumber(ARGV[12])) then return 3 end
local number, turn = redis.call('INCR', base .. 'n'), ''
sweep() -- after a write that takes memory: where that has ended, nothing is created
if ARGV[4] == '1' then turn = enqueue(id) end
redis.call('HSET', KEYS[1], 'v', 1, 'o', owner, 'q', number, 't', turn, 'c', ARGV[7], 'm', ARGV[8], 'd', ARGV[9])
redis.call('ZADD', base .. 'o:' .. owner, number, id)
place(id, owner, ARGV[5] == '1', tonumber(ARGV[6]), ARGV[9], tonumber(ARGV[10]), tonumber(ARGV[11]))
return 1
