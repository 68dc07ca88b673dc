-- wrk: what a dashboard and its clients ask, in the frequency they ask it. IDS: ids of programs and
-- packages, "program:package" by blanks. One of 200 requests makes a trace, one of 1,000 a plan.
local programs, packages = {}, {}
for program, package in os.getenv("IDS"):gmatch("(%S+):(%S+)") do
	programs[#programs + 1] = program
	packages[#packages + 1] = package
end
local kept = {
	"/api/v1/summary", "/api/v1/programs?limit=50", "/api/v1/programs?sort=-saving&limit=50",
	"/api/v1/packages?limit=50", "/api/v1/directories", "/api/v1/findings?limit=50", "/api/v1/criteria",
	"/healthz", "/api/v1/audits",
}
local fresh = { "/metrics", "/api/v1/jobs", "/readyz" }

local seeded = false
function request()
	if not seeded then
		math.randomseed(os.time() + tonumber(tostring({}):match("0x(%x+)"), 16) % 100000)
		seeded = true
	end
	local dice, at = math.random(1000), math.random(#programs)
	if dice == 1 then
		return wrk.format("GET", "/api/v1/packages/" .. packages[at] .. "/plan")
	elseif dice <= 6 then
		return wrk.format("GET", "/api/v1/programs/" .. programs[at] .. "/trace?env=N=" .. math.random(1e9))
	elseif dice <= 10 then
		return wrk.format("GET", fresh[math.random(#fresh)])
	elseif dice <= 200 then
		return wrk.format("GET", "/api/v1/programs/" .. programs[at])
	elseif dice <= 300 then
		return wrk.format("GET", "/api/v1/packages/" .. packages[at])
	end
	return wrk.format("GET", kept[math.random(#kept)])
end

function done(summary, latency)
	local e = summary.errors
	io.write(string.format("figures %d %d %.1f %.1f %.1f\n", summary.requests,
		e.connect + e.read + e.write + e.status + e.timeout,
		latency:percentile(50) / 1000, latency:percentile(99) / 1000, latency.max / 1000))
end
