-- What the scripts of tasks have in common. KEYS[1] is for the sake of a Cluster: all
-- keys of tasks have one hash tag and are in one slot, so the others are put together
-- here. ARGV[1] begins them all.
--
--   n       counter: number of the newest record
--   r:ID    hash: v version, o owner, q number, t entry of its turn in the line or empty,
--           c time of creation, m the same in milliseconds, d data
--   o:OWNER sorted set: ids by number
--   l:OWNER sorted set: ids of those that have not ended, by expiry
--   f:OWNER sorted set: ids of those that have ended, by the time of that
--   b:OWNER hash: bytes of each of those, under i and its id, and of all together, under t
--   a:OWNER hash: the same of those that have not ended
--   x       sorted set: owner and id of those that expire, by expiry
--   g:ID    string: number and owner of one that is gone
--   q       stream: the line, with the group w
local base = ARGV[1]
local line, group, ends = base .. 'q', 'w', base .. 'x'

local function digits(n) return string.format('%.0f', n) end

local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

-- enqueue gives the entry.
local function enqueue(id) return redis.call('XADD', line, '*', 'i', id) end

-- dequeue is no error where there is no such entry, no group, or no line.
local function dequeue(entry)
  redis.call('XACK', line, group, entry)
  redis.call('XDEL', line, entry)
end

-- mine says whether the entry is that consumer's, handed out for the time that count says.
local function mine(entry, consumer, count)
  local p = redis.pcall('XPENDING', line, group, entry, entry, 1)[1]
  return p and p[2] == consumer and p[4] == tonumber(count)
end

local function member(owner, id) return #owner .. ':' .. owner .. id end

-- index sets when a record expires (0: never), and finds it by that.
local function index(id, owner, live, expires)
  local score = '+inf'
  if expires == 0 then
    redis.call('PERSIST', base .. 'r:' .. id)
    redis.call('ZREM', ends, member(owner, id))
  else
    score = digits(math.max(expires, 1))
    redis.call('PEXPIREAT', base .. 'r:' .. id, score)
    redis.call('ZADD', ends, score, member(owner, id))
  end
  if live then
    redis.call('ZADD', base .. 'l:' .. owner, score, id)
  else
    redis.call('ZREM', base .. 'l:' .. owner, id)
  end
end

local function size(sizes, of) return tonumber(redis.call('HGET', sizes, of) or 0) end

-- note sets the bytes of a record, 0 of one that is not of these, and says whether that is new.
local function note(sizes, id, bytes)
  local more = bytes - size(sizes, 'i' .. id)
  if more == 0 then return false end
  if bytes > 0 then
    redis.call('HSET', sizes, 'i' .. id, bytes)
  else
    redis.call('HDEL', sizes, 'i' .. id)
  end
  if redis.call('HINCRBY', sizes, 't', more) <= 0 then redis.call('DEL', sizes) end
  return true
end

-- weigh notes the bytes of a record, whether it has ended or not; 0: it is gone.
local function weigh(owner, id, live, bytes)
  local ended = base .. 'f:' .. owner
  note(base .. 'a:' .. owner, id, live and bytes or 0)
  if not note(base .. 'b:' .. owner, id, live and 0 or bytes) then return end
  if live or bytes == 0 then
    redis.call('ZREM', ended, id)
  else
    redis.call('ZADD', ended, digits(now()), id)
  end
end

-- forget takes a record out of the indexes, and leaves a trace for an hour, so that a list
-- can go on behind it. The trace comes last: where memory has ended, Redis refuses a script
-- whose first write takes some, and lets one go on that has begun to free it.
local function forget(owner, id)
  local number = redis.call('ZSCORE', base .. 'o:' .. owner, id)
  redis.call('ZREM', ends, member(owner, id))
  redis.call('ZREM', base .. 'o:' .. owner, id)
  redis.call('ZREM', base .. 'l:' .. owner, id)
  weigh(owner, id, false, 0)
  if number then redis.call('SET', base .. 'g:' .. id, digits(tonumber(number)) .. ':' .. owner, 'EX', 3600) end
end

-- sweep forgets some of those that have expired: more than one call can add.
local function sweep()
  for _, m in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', '(' .. digits(now()), 'LIMIT', 0, 8)) do
    local colon = string.find(m, ':', 1, true)
    local last = colon + tonumber(string.sub(m, 1, colon - 1))
    forget(string.sub(m, colon + 1, last), string.sub(m, last + 1))
  end
end

local function weight(data) return #data + 512 end -- with what Redis takes for a record

-- fits says whether a record that has not ended may be so large. If it may not, those of the
-- owner that have expired are forgotten first.
local function fits(owner, id, data, most)
  local sizes = base .. 'a:' .. owner
  local more = weight(data) - size(sizes, 'i' .. id)
  if more <= 0 or size(sizes, 't') + more <= most then return true end
  for _, gone in ipairs(redis.call('ZRANGEBYSCORE', base .. 'l:' .. owner, '-inf', '(' .. digits(now()), 'LIMIT', 0, 1000)) do
    forget(owner, gone)
  end
  return size(sizes, 't') + more <= most
end

-- place is index, and weigh, and lets those of the owner that ended first go for one that
-- ends, while there are more than most of them, or in more bytes.
local function place(id, owner, live, expires, data, most, bytes)
  index(id, owner, live, expires)
  weigh(owner, id, live, weight(data))
  if live then return end
  local ended, sizes = base .. 'f:' .. owner, base .. 'b:' .. owner
  for i = 1, 1000 do -- Redis does nothing else meanwhile; what is left is the next one's
    if redis.call('ZCARD', ended) <= most and size(sizes, 't') <= bytes then return end
    local first = redis.call('ZRANGE', ended, 0, 0)[1]
    if first == id then return end
    if redis.call('HGET', base .. 'r:' .. first, 'o') == owner then redis.call('DEL', base .. 'r:' .. first) end
    forget(owner, first)
    redis.call('ZREM', ended, first)
  end
end
