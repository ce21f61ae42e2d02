"""Order, resources and retries of the scheduler, over random studies in virtual time."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from virtual_time import Deadlock, run_virtual

from loopscope.engine.needs import Capacity, Need
from loopscope.engine.providers import CLOSED_AFTER, DOWN_AFTER, MAX_PAUSE_SEC, Provider, Refusal
from loopscope.engine.scheduler import LOOKAHEAD, MAX_OVERTAKEN, MAX_TRIES, Job, Scheduler
from loopscope.engine.turns import evenly, fair_order
from loopscope.records.studyfile import NoRoomError


@dataclass(frozen=True)
class Unit:
    seed: int
    task: int
    agent: int
    need: Need
    seconds: float

    @property
    def cell(self) -> tuple[int, int]:
        return self.task, self.agent


@dataclass
class Study:
    """A study, what it may hold, and what was seen of its run."""

    capacity: Capacity
    units: list[Unit]
    limits: dict[str, int] = field(default_factory=dict)
    refusals: dict[Unit, int] = field(default_factory=dict)
    """So often each is turned away before it is served."""
    by_person: bool = False
    starts: list[Unit] = field(default_factory=list)
    done: list[Unit] = field(default_factory=list)
    running: list[Unit] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    moments: list[float] = field(default_factory=list)

    def jobs(self) -> list[Job[Unit]]:
        return [Job(unit, unit.seed, unit.need) for unit in self.order()]

    def order(self) -> list[Unit]:
        return fair_order(self.units, lambda unit: unit.seed, lambda unit: unit.cell)

    def providers(self) -> dict[str, Provider]:
        return {name: Provider(name, limit, seed="s") for name, limit in self.limits.items()}

    async def work(self, unit: Unit) -> bool:
        """Whether the unit was turned away."""
        self.starts.append(unit)
        self.moments.append(asyncio.get_running_loop().time())
        self.running.append(unit)
        self.check()
        try:
            await asyncio.sleep(unit.seconds)
        finally:
            self.running.remove(unit)
        return self.starts.count(unit) <= self.refusals.get(unit, 0)

    def check(self) -> None:
        capacity, running = self.capacity, self.running
        assert len(running) <= capacity.places
        for held, budget in (
            ([unit.need.millicpus for unit in running], capacity.millicpus),
            ([unit.need.disk_bytes for unit in running], capacity.disk_bytes),
        ):
            if budget is not None and sum(held) > budget:
                assert len([x for x in held if x]) == 1, "only alone may a unit hold more than there is"
        by_provider = Counter(unit.need.provider for unit in running)
        assert all(by_provider[name] <= limit for name, limit in self.limits.items())

    async def run(self) -> None:
        scheduler = Scheduler[Unit, bool](
            self.capacity,
            finished=lambda unit, _: self.done.append(unit),
            providers=self.providers(),
            answer=lambda turned_away: Refusal(by_person=self.by_person) if turned_away else "served",
            tell=self.told.append,
        )
        await scheduler.run(self.jobs(), self.work)


@st.composite
def studies(draw: st.DrawFn, *, refusing: bool = False) -> Study:
    tasks, agents, seeds = draw(st.tuples(*[st.integers(1, 5)] * 3))
    cpus = [draw(st.integers(100, 4000)) for _ in range(tasks)]
    disk = [draw(st.integers(0, 50)) for _ in range(tasks)]
    providers = [draw(st.sampled_from([None, "p", "q"])) for _ in range(agents)]
    units = [
        Unit(
            seed,
            task,
            agent,
            Need(125 if providers[agent] else cpus[task], disk[task], providers[agent], f"t{task}"),
            draw(st.floats(0, 100)),
        )
        for seed in range(seeds)
        for task in range(tasks)
        for agent in range(agents)
    ]
    capacity = Capacity(
        places=draw(st.integers(1, 8)),
        millicpus=draw(st.none() | st.integers(500, 8000)),
        disk_bytes=draw(st.none() | st.integers(1, 100)),
    )
    limits = draw(st.dictionaries(st.sampled_from(["p", "q"]), st.integers(1, 4)))
    if refusing:
        limits = {"p": 1, "q": 2} | limits
    times = st.integers(0, MAX_TRIES + 1) if refusing else st.just(0)
    refusals = {unit: draw(times) for unit in units if unit.need.provider} if refusing else {}
    return Study(capacity, units, limits, refusals)


def spread(counts: list[int]) -> int:
    return max(counts) - min(counts)


@given(studies())
@settings(deadline=None)
def test_all_is_done_once_and_any_prefix_of_starts_is_balanced(study):
    run_virtual(study.run())
    assert Counter(study.done) == Counter(study.units)
    assert not study.running
    cells = {unit.cell for unit in study.units}
    counts = dict.fromkeys(cells, 0)
    for unit in study.starts:
        counts[unit.cell] += 1
        assert spread(list(counts.values())) <= 1


@given(studies())
@settings(deadline=None)
def test_no_unit_is_overtaken_more_than_a_few_times_on_account_of_cpus_or_disk(study):
    study.limits = {}
    run_virtual(study.run())
    place = {unit: number for number, unit in enumerate(study.order())}
    for number, unit in enumerate(study.starts):
        overtakers = [other for other in study.starts[:number] if place[other] > place[unit]]
        assert len(overtakers) <= MAX_OVERTAKEN


@given(studies(refusing=True))
@settings(max_examples=60, deadline=None)
def test_what_a_provider_turns_away_is_tried_again_a_bounded_number_of_times(study):
    run_virtual(study.run())
    assert Counter(study.done) == Counter(study.units)
    tries = Counter(study.starts)
    assert all(tries[unit] == min(study.refusals.get(unit, 0) + 1, MAX_TRIES) for unit in study.units)


@given(studies(), st.floats(0, 300))
@settings(max_examples=60, deadline=None)
def test_a_stopped_pass_leaves_nothing_running_and_what_was_started_is_balanced(study, after):
    async def stop() -> None:
        task = asyncio.create_task(study.run())
        await asyncio.sleep(after)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled() or len(study.done) == len(study.units)
        assert len(asyncio.all_tasks()) == 1

    run_virtual(stop())
    assert not study.running
    counts = Counter(unit.cell for unit in study.starts)
    assert spread([counts[unit.cell] for unit in study.units]) <= 1


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 3))
@settings(deadline=None)
def test_a_round_takes_turns_over_tasks_and_over_agents(tasks, agents, seeds):
    units = [(s, t, a) for s in range(seeds) for t in range(tasks) for a in range(agents)]
    ordered = fair_order(units, lambda unit: unit[0], lambda unit: (unit[1], unit[2]))
    assert sorted(ordered) == units
    per_task, per_agent = [0] * tasks, [0] * agents
    for _, task, agent in ordered:
        per_task[task] += 1
        per_agent[agent] += 1
        assert spread(per_task) <= 1
        assert spread(per_agent) <= 1


@given(st.integers(0, 300))
@settings(deadline=None)
def test_evenly_names_each_number_once_and_never_leaves_a_gap_much_wider_than_another(count):
    order = evenly(count)
    assert sorted(order) == list(range(count))
    assert order[:2] == [count - 1, 0][:count]
    for length in range(2, count):
        seen = sorted(order[:length])
        gaps = [b - a for a, b in pairwise(seen)]
        assert max(gaps) <= 2 * min(gaps) + 1


def test_an_error_stops_all_and_is_passed_on():
    ended = []

    async def work(number: int) -> None:
        try:
            await asyncio.sleep(number)
            if number == 2:
                raise OSError("disk full")
        finally:
            ended.append(number)

    async def run() -> None:
        scheduler = Scheduler[int, None](Capacity(places=3), finished=lambda *_: None)
        await scheduler.run([Job(number, 0, Need()) for number in range(1, 9)], work)

    with pytest.raises(ExceptionGroup) as caught:
        run_virtual(run())
    assert [str(error) for error in caught.value.exceptions] == ["disk full"]
    assert sorted(ended) == [1, 2, 3, 4], "what ran was ended, nothing more was begun"


def unit(number: int, provider: str | None = None, *, seed: int = 0, seconds: float = 10.0, **need: int) -> Unit:
    return Unit(seed, number, 0, Need(provider=provider, what=f"t{number}", **need), seconds)


def test_a_large_unit_lets_a_few_pass_and_is_then_waited_for():
    small = [unit(n, seconds=10 + n / 100, millicpus=500) for n in range(40)]
    large = unit(99, millicpus=2000)
    study = Study(Capacity(places=9, millicpus=2000), [small[0], large, *small[1:]])
    run_virtual(study.run())
    assert study.starts.index(large) == 1 + MAX_OVERTAKEN


def test_cpu_bound_work_waits_while_model_bound_work_runs_wide():
    agents = [unit(n, "p", millicpus=125, seconds=100) for n in range(12)]
    builds = [unit(20 + n, millicpus=1000, seconds=100) for n in range(2)]
    study = Study(Capacity(places=64, millicpus=2000), [*agents, *builds])
    widest = 0

    async def watch() -> None:
        nonlocal widest
        run = asyncio.create_task(study.run())
        while not run.done():
            widest = max(widest, len(study.running))
            await asyncio.sleep(1)
        await run

    run_virtual(watch())
    assert widest == 12, "1.5 of two cpus are the model-bound units', which leaves no whole one"


def test_a_refusal_halves_the_share_and_pauses_and_service_raises_it_again():
    units = [unit(n, "p", seconds=60) for n in range(40)]
    study = Study(Capacity(places=8), units, {"p": 8}, dict.fromkeys(units[:8], 1))
    run_virtual(study.run())
    assert Counter(study.starts) == Counter(units) + Counter(units[:8])
    first = next(line for line in study.told if "->" in line)
    assert first.startswith("p: rate limited or overloaded; 8 -> 4 at once, next start in ")
    assert len(study.told) == 1, "eight that met the same wall are one piece of news"
    again = study.moments[8]
    assert 60 + 30 * 0.75 <= again <= 60 + 30
    assert study.moments[8:12] == [again] * 4
    assert study.moments[12] > again


def test_a_provider_that_is_down_holds_nobody_back_and_catches_up():
    down = [unit(0, "p", seed=seed, seconds=1) for seed in range(5)]
    fine = [unit(1, seed=seed, seconds=1) for seed in range(5)]
    study = Study(Capacity(places=2), [*down, *fine], {"p": 2}, {down[0]: MAX_TRIES - 1})
    run_virtual(study.run())
    assert Counter(study.done) == Counter(study.units)
    assert study.starts.index(fine[4]) < study.starts.index(down[1])
    before = [u for u in study.starts[: study.starts.index(fine[2])] if u is down[0]]
    assert len(before) == DOWN_AFTER
    assert any(line.endswith("; the others no longer wait for it") for line in study.told)
    assert study.told[-1] == "p: serves again"


def test_what_a_person_has_to_mend_closes_the_provider_and_its_units_wait_for_another_run():
    refused = [unit(0, "p", seed=seed, seconds=1) for seed in range(6)]
    fine = [unit(1, seed=seed, seconds=1) for seed in range(6)]
    study = Study(Capacity(places=1), [*refused, *fine], {"p": 1}, dict.fromkeys(refused, 99), by_person=True)
    run_virtual(study.run())
    assert study.done == fine
    assert [u for u in study.starts if u in refused] == [refused[0]] * CLOSED_AFTER
    assert study.told[-1] == "p: refused key or account 3 times; its other rollouts wait for another `run`"


def test_pauses_grow_and_are_capped():
    provider, now = Provider("p", 1, seed="s"), 0.0
    pauses = []
    for _ in range(40):
        assert provider.may_start(now)
        provider.heard(Refusal(), now, now)
        assert not provider.may_start(now)
        pauses.append(provider.open_at - now)
        now = provider.open_at
    assert 22 <= pauses[0] <= 30
    assert pauses[1] > pauses[0] * 1.4
    assert max(pauses) <= MAX_PAUSE_SEC
    assert min(pauses[6:]) >= MAX_PAUSE_SEC * 0.75
    assert len(set(pauses[6:])) > 20, "not all studies come back at the same moment"


@pytest.mark.parametrize("asked", [0.5, 45.0, 2000.0])
def test_the_pause_that_a_provider_asks_for_is_kept(asked):
    provider = Provider("p", 4)
    told = provider.heard(Refusal(asked), 0.0, 0.0)
    assert asked <= provider.open_at <= asked * 1.1
    assert told
    assert "4 -> 2 at once" in told


def test_no_room_on_the_disk_waits_for_what_runs_and_then_says_what_to_free(tmp_path):
    disk = {"free": 25}

    def free(_: Path) -> int:
        return disk["free"] * 10**9

    capacity = Capacity(places=4, reserve_bytes=2 * 10**9, folder=tmp_path, free_bytes=free)
    units = [unit(n, seconds=1, disk_bytes=10 * 10**9) for n in range(4)]
    study = Study(capacity, units)
    run_virtual(study.run())
    assert study.moments == [0, 0, 1, 1]
    disk["free"] = 11
    study = Study(capacity, [*units, unit(4, seconds=1, disk_bytes=5 * 10**9)])
    with pytest.raises(NoRoomError) as caught:
        run_virtual(study.run())
    said = f"{tmp_path}: make room: 11.0 GB are free, and a run of t0 needs 12.0 GB"
    assert str(caught.value).startswith(said) and "4 units wait for it" in str(caught.value)
    assert study.done == study.units[4:], "what fits need not wait for what does not"
    assert len(study.told) == 1 and study.told[0].startswith(said)


def test_many_units_without_room_are_told_of_in_one_line(tmp_path):
    capacity = Capacity(places=2, folder=tmp_path, free_bytes=lambda _: 10)
    units = [unit(seed, seconds=1, seed=seed % 3, disk_bytes=11) for seed in range(3 * LOOKAHEAD)]
    study = Study(capacity, units)
    with pytest.raises(NoRoomError, match=f"{len(units)} units wait"):
        run_virtual(study.run())
    assert (len(study.told), study.done) == (1, [])


def test_what_a_full_disk_left_out_of_an_early_round_does_not_hold_the_later_ones(tmp_path):
    capacity = Capacity(places=2, folder=tmp_path, free_bytes=lambda _: 10)
    units = [unit(seed, seconds=1, seed=seed, disk_bytes=disk) for seed, disk in enumerate((5, 11, 5))]
    study = Study(capacity, units)
    with pytest.raises(NoRoomError, match="a run of t1"):
        run_virtual(study.run())
    assert study.done == [units[0], units[2]]


def test_the_virtual_clock_finds_deadlocks():
    async def wait() -> None:
        await asyncio.Event().wait()

    with pytest.raises(Deadlock):
        run_virtual(wait())
