-- KEYS: line. ARGV: base, milliseconds. Forgets the consumers of processes that are gone.
-- One that has entries stays until they are others'; one that is there after all comes
-- back by its next read. XINFO is an error where there is no line.
if redis.call('EXISTS', line) == 0 then return 0 end
for _, c in ipairs(redis.call('XINFO', 'CONSUMERS', line, group)) do
  local field = {}
  for i = 1, #c, 2 do field[c[i]] = c[i + 1] end
  if field['pending'] == 0 and field['idle'] > tonumber(ARGV[2]) then
    redis.call('XGROUP', 'DELCONSUMER', line, group, field['name'])
  end
end
return 0
