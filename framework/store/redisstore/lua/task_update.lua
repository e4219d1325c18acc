-- KEYS: record. ARGV: base, id, version, owner, working, live, TTL in milliseconds or 0, data,
-- most of those that have ended, their bytes, and the bytes of those that have not.
-- 0: there is none. 2: it has another version. 3: there is no room. A list: it has another
-- owner, this one. Else the entry of a turn that is over, or empty.
local id, working = ARGV[2], ARGV[5] == '1'
local r = redis.call('HMGET', KEYS[1], 'v', 'o', 't', 'm')
if not r[1] then return 0 end
if r[1] ~= ARGV[3] then return 2 end
if r[2] ~= ARGV[4] then return {r[2]} end
if ARGV[6] == '1' and not fits(r[2], id, ARGV[8], tonumber(ARGV[11])) then return 3 end
local turn, over = r[3], ''
if working and turn == '' then
  turn = enqueue(id)
elseif not working and turn ~= '' then
  over = turn
  turn = ''
  dequeue(over)
end
redis.call('HINCRBY', KEYS[1], 'v', 1)
redis.call('HSET', KEYS[1], 't', turn, 'd', ARGV[8])
local ttl = tonumber(ARGV[7])
local expires = ttl == 0 and 0 or math.max(tonumber(r[4]) + ttl, 1)
place(id, r[2], ARGV[6] == '1', expires, ARGV[8], tonumber(ARGV[9]), tonumber(ARGV[10]))
return over
