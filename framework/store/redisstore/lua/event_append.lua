-- KEYS: frames, number. ARGV: frame as it is kept, bytes of the frame, bytes that keeping
-- it adds, most events, most bytes, life of the frames and of the number in milliseconds.
-- Besides the frames, the hash has f, the number of the first one, and b, their bytes.
local size, more, most, bytes = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local seq = redis.call('INCR', KEYS[2])
local state = redis.call('HMGET', KEYS[1], 'f', 'b')
local first, held = tonumber(state[1] or seq), tonumber(state[2] or 0)
while first < seq and (seq - first >= most or held + size > bytes) do
  held = held - (redis.call('HSTRLEN', KEYS[1], first) - more)
  redis.call('HDEL', KEYS[1], first)
  first = first + 1
end
redis.call('HSET', KEYS[1], seq, ARGV[1], 'f', first, 'b', held + size)
redis.call('PEXPIRE', KEYS[1], ARGV[6])
redis.call('PEXPIRE', KEYS[2], ARGV[7])
return seq
