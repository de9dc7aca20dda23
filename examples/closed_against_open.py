"""Why iodepth is not an arrival rate: the same device, driven open and driven closed.

A benchmark at iodepth N keeps N requests in flight: when the device slows down, so does the benchmark, and the
response time grows by one straight line.  Users who come at their own rate do not slow down, and near saturation
the response time has no limit.

    python examples/closed_against_open.py
"""

from qsim import MMc, MMcN, asymptotic_bounds, solve

SERVICE_TIME = 80e-6  # seconds
CHANNELS = 32
THINK_TIME = 1e-6  # the host's time between an answer and the next request

knee = asymptotic_bounds([1], THINK_TIME, [SERVICE_TIME], [CHANNELS]).knee
print(f"{CHANNELS} channels of {SERVICE_TIME * 1e6:.0f} us each:", end=" ")
print(f"at most {CHANNELS / SERVICE_TIME:,.0f} IOPS, knee at N* = {knee:.1f}\n")
print("closed, N in flight                      open, arriving at the same rate")
print("   N   throughput/s   response us         rho   response us")

for depth in (1, 2, 4, 8, 16, 24, 32, 48, 64, 128):
    closed = solve(MMcN(population=depth, think_time=THINK_TIME, service_time=SERVICE_TIME, servers=CHANNELS))
    same_rate = closed.throughput
    row = f"{depth:4d}   {same_rate:12,.0f}   {closed.W * 1e6:11.1f}      {closed.utilization:6.4f}"
    if closed.utilization < 1 - 1e-9:
        opened = solve(MMc(arrival_rate=same_rate, service_rate=1 / SERVICE_TIME, servers=CHANNELS))
        print(f"{row}   {opened.W * 1e6:11.1f}")
    else:
        print(f"{row}     no steady state")

print(
    "\nWell below the knee both agree. Near it the open queue grows without limit; past it only the closed one exists."
)
