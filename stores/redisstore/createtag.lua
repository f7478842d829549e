-- Creates a tag. It comes after tags.lua.
-- ARGV: the failover gap; the tag; its first number; the step; the description; the time before which nobody can
-- have created the tag, in milliseconds, or ''; how many milliseconds after a change of the history a former
-- primary may still have created it.
-- Reply: 'created', 'no pool'; or 'exhausted', the first number and how many numbers would have been skipped; or
-- 'exists' and the counter; or 'damaged', a field and its value.
local tag, start = ARGV[2], ARGV[3]
local counter, step, skipped = unpack(redis.call('HMGET', KEYS[2], 'next:' .. tag, 'step:' .. tag, 'skip:' .. tag))
if counter then
	return {'exists', counter}
end
if step or skipped then -- somebody has deleted the counter
	return {'damaged', 'next:' .. tag, ''}
end
local jump = 0
if ARGV[6] ~= '' then
	if not history then
		return {'no pool'}
	end
	-- The tag may have existed on a server that has changed since then. It skips what tags have skipped since.
	local unusedBefore = math.min(tonumber(ARGV[6]), now) - tonumber(ARGV[7])
	for changed, before in string.gmatch(changes or '', '(%d+)=(%d+)') do
		if tonumber(changed) >= unusedBefore then
			jump = math.max(skip - tonumber(before), 0)
			break
		end
	end
end
if difference(maxCounter, start) - jump < 1 then
	return {'exhausted', start, decimal(jump)}
end
noteServers()
-- The counter first, with one command for each sum: if the server refuses one, for example because the user lacks the
-- right, there must be no tag that begins without the jump.
redis.call('HINCRBY', KEYS[2], 'next:' .. tag, decimal(jump))
redis.call('HINCRBY', KEYS[2], 'next:' .. tag, start)
for _, text in ipairs({'step:' .. tag, ARGV[4], 'skip:' .. tag, decimal(skip)}) do
	fields[#fields + 1] = text
end
if ARGV[5] ~= '' then
	fields[#fields + 1] = 'description:' .. tag
	fields[#fields + 1] = ARGV[5]
end
redis.call('HSET', KEYS[2], unpack(fields))
return {'created'}
