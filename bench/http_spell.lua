-- wrk: one URL, each time with other letters of its last segment escaped, so that no answer is kept
-- for it. What follows '?' stays, with a number added where it says @.
local path = os.getenv("SPELL")
math.randomseed(os.time())
local count = math.random(65536)
local head, id, rest = path:match("^(.*/)(%w+)(.*)$")
if not id or path:find("@") then head, id, rest = path, "", "" end

function request()
	count = count + 1
	local bits = count
	local spelt = id:gsub("%w", function(letter)
		local odd = bits % 2 == 1
		bits = math.floor(bits / 2)
		return odd and string.format("%%%02x", letter:byte()) or letter
	end)
	return wrk.format("GET", (head:gsub("@", count)) .. spelt .. rest)
end
