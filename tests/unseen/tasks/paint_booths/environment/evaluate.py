"""Local evaluation: what the policy saves on the public days, in percent of what the original policy cost on each."""

import json
import pathlib

import policy
import shop

days = json.loads((pathlib.Path(__file__).parent / "scenarios.json").read_text())
saved = []
for day in days:
    policy.start({k: day[k] for k in ("booths", "clean", "solvent")})
    saved.append(100 * (1 - shop.simulate(day, policy.choose) / day["original_cost"]))
print(json.dumps({"days": [round(s, 1) for s in saved], "score": round(sum(saved) / len(saved), 4)}))
