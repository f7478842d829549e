-- Creates a tag. It comes after tags.lua.
-- ARGV: the tag; its first number; that number plus the failover gap, or '' if there is no such number; the step; the description; the
-- time before which nobody can have created the tag, in milliseconds, or ''; how many milliseconds after a change of the history
-- a former primary may still have created it.
-- Reply: 'created', 'no pool', 'exhausted'; or 'exists' and the counter; or 'damaged', a field and its value.
local tag = ARGV[1]
local poolHistory, since, counter, step, history = unpack(redis.call('HMGET', KEYS[1],
	'history', 'since', 'next:' .. tag, 'step:' .. tag, 'history:' .. tag))
if counter then
	return {'exists', counter}
end
if step or history then -- somebody has deleted the counter
	return {'damaged', 'next:' .. tag, ''}
end
since = tonumber(since or '')
if poolHistory ~= server or not since then
	since = now
end
local first = ARGV[2]
if ARGV[6] ~= '' then
	if not poolHistory then
		return {'no pool'}
	end
	if math.min(tonumber(ARGV[6]), now) <= since + tonumber(ARGV[7]) then
		first = ARGV[3]
	end
end
if first == '' then
	return {'exhausted'}
end
local fields = {'next:' .. tag, first, 'step:' .. tag, ARGV[4], 'history:' .. tag, server, 'history', server, 'since', decimal(since)}
if ARGV[5] ~= '' then
	fields[#fields + 1] = 'description:' .. tag
	fields[#fields + 1] = ARGV[5]
end
redis.call('HSET', KEYS[1], unpack(fields))
return {'created'}
