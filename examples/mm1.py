"""M/M/1, twice: by formula, and by watching a million customers.  They must agree.

python examples/mm1.py
"""

from qsim import MM1, simulate, solve

model = MM1(arrival_rate=16, service_rate=20)  # per second: an I/O rate of 16/s to a disk that does 20/s

exact = solve(model)
print(exact)

rho = exact.utilization
print(f"\nLq = rho²/(1 - rho) = {rho**2 / (1 - rho):.6g}, and the formula above says {exact.Lq:.6g}\n")

simulated = simulate(model, customers=1_000_000, seed=1)
print(simulated)

low, high = simulated.interval("Lq")
verdict = "contains" if low <= exact.Lq <= high else "misses (1 run in 20 does)"
print(f"\nThe simulated interval for Lq, {low:.4g} .. {high:.4g}, {verdict} {exact.Lq:.4g}.")
print(f"99 % of responses take less than {exact.quantile(0.99):.4g} s by formula,", end=" ")
print(f"{simulated.quantile(0.99):.4g} s simulated.")
