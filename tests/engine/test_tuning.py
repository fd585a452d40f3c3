"""How many threads: as many as fit into the waiting, one for Python that holds the interpreter lock."""

import random

from grain._src.engine.trials import Contest, Retry
from grain._src.engine.tuning import Pace, ThreadTuner


def watch(tuner, wall, cpu, blocks=40, starving=True, at_once=lambda n: n):
    """Feeds blocks that take `wall` and `cpu` seconds, of which `at_once` are under way.

    All are functions of the number of threads at work.
    """
    ended = tuner._now
    for _ in range(blocks):
        if starving:
            tuner.starved()
        threads = tuner.wanted
        ended += wall(threads) / at_once(threads)
        tuner.observe(wall(threads), cpu(threads), threads, ended)
    return tuner.wanted


class Mixed:
    """Reads that wait, and then compute with the interpreter lock: as many fit as the computing leaves time for."""

    def __init__(self, waits, computes):
        self.waits, self.computes = waits, computes

    def pace(self, threads):
        """Blocks a second."""
        return min(threads / (self.waits + self.computes), 1 / self.computes)

    def watch(self, tuner, seconds, starving=True, cores=1.0):
        """Runs for so long, `cores` of which this process gets; returns the numbers of threads that were wanted."""
        wanted, ended, end = set(), tuner._now, tuner._now + seconds
        while ended < end:
            if starving:
                tuner.starved()
            threads = tuner.wanted
            ended += 1 / (cores * self.pace(threads))
            wall = threads / (cores * self.pace(threads))
            tuner.observe(wall, self.computes, threads, ended, elements=4)
            wanted.add(tuner.wanted)
        return wanted


def test_it_begins_with_one():
    assert ThreadTuner(16).wanted == 1


def test_reads_that_wait_get_as_many_threads_as_fit_into_the_waiting():
    assert watch(ThreadTuner(16, cores=2), lambda n: 2e-3, lambda n: 1e-5) == 16
    assert watch(ThreadTuner(16, cores=2), lambda n: 8e-3, lambda n: 2e-3) in range(2, 6)


def test_never_more_than_allowed():
    assert watch(ThreadTuner(3, cores=8), lambda n: 1.0, lambda n: 1e-6) == 3
    assert watch(ThreadTuner(1, cores=8), lambda n: 1.0, lambda n: 1e-6) == 1


def test_python_that_holds_the_lock_is_back_at_one_after_a_trial():
    tuner = ThreadTuner(16, cores=4)
    assert watch(tuner, lambda n: 5e-3 * n, lambda n: 5e-3) == 1
    assert watch(tuner, lambda n: 5e-3 * n, lambda n: 5e-3, blocks=200) == 1


def test_python_that_holds_the_lock_for_a_whole_block_is_found_out_too():
    tuner = ThreadTuner(16, cores=4)
    assert watch(tuner, lambda n: 1e-3, lambda n: 1e-3, at_once=lambda n: 1) == 1
    assert watch(tuner, lambda n: 1e-3, lambda n: 1e-3, at_once=lambda n: 1, blocks=200) == 1
    assert tuner.one_is_enough


def test_one_thread_is_not_known_to_be_enough_before_a_second_was_tried():
    tuner = ThreadTuner(16, cores=4)
    watch(tuner, lambda n: 1e-3, lambda n: 1e-3, blocks=10, starving=False)
    assert tuner.wanted == 1
    assert not tuner.one_is_enough


def test_one_thread_is_enough_for_short_blocks_but_not_for_those_that_wait():
    tuner = ThreadTuner(16, cores=4)
    watch(tuner, lambda n: 1e-5, lambda n: 1e-5, blocks=10)
    assert tuner.one_is_enough
    watch(tuner, lambda n: 2e-3, lambda n: 1e-5)
    assert not tuner.one_is_enough


def test_code_that_releases_the_lock_gets_the_cores():
    assert watch(ThreadTuner(16, cores=4), lambda n: 5e-3, lambda n: 5e-3, blocks=400) == 4


def test_a_consumer_that_never_waits_needs_no_second_thread():
    assert watch(ThreadTuner(16, cores=4), lambda n: 5e-3, lambda n: 5e-3, starving=False) == 1


def test_blocks_too_short_to_tell_change_nothing():
    assert watch(ThreadTuner(16, cores=4), lambda n: 1e-5, lambda n: 1e-6, starving=False) == 1


def test_one_slow_read_among_quick_ones_does_not_call_for_many_threads():
    tuner = ThreadTuner(16, cores=2)
    watch(tuner, lambda n: 1e-3, lambda n: 1e-3, starving=False)
    tuner.observe(0.5, 1e-4, 1, ended=10.0)
    assert tuner.wanted <= 2


def test_waiting_that_begins_later_is_noticed():
    tuner = ThreadTuner(16, cores=2)
    watch(tuner, lambda n: 1e-3, lambda n: 1e-3, starving=False)
    assert watch(tuner, lambda n: 4e-3, lambda n: 1e-4, blocks=100) == 16


def test_blocks_begun_before_a_trial_do_not_end_it():
    tuner = ThreadTuner(16, cores=2)
    watch(tuner, lambda n: 0.08, lambda n: 0.08, blocks=4, starving=False)
    tuner.starved()
    for number in range(3):
        tuner.observe(0.08, 0.08, threads=1, ended=1 + 0.08 * number)
    assert tuner.wanted == 2
    for number in range(5):
        tuner.observe(0.09, 0.08, threads=2, ended=2 + 0.045 * number)
    assert tuner.wanted == 2


def test_long_blocks_need_a_few_only_to_tell():
    tuner = ThreadTuner(16, cores=2)
    watch(tuner, lambda n: 0.08, lambda n: 0.08, blocks=4, starving=False)
    tuner.starved()
    for number in range(5):
        tuner.observe(0.16, 0.08, threads=2, ended=1 + 0.08 * number)
    assert tuner.wanted == 1


def test_threads_go_when_blocks_become_short():
    tuner = ThreadTuner(16, cores=2)
    assert watch(tuner, lambda n: 2e-3, lambda n: 1e-5) == 16
    assert watch(tuner, lambda n: 1e-5, lambda n: 1e-5, blocks=200, starving=False) == 1


def test_reads_that_wait_and_compute_get_the_threads_with_which_they_are_quickest():
    for waits, computes in ((1e-3, 2e-4), (4e-3, 4e-4), (1e-3, 5e-4), (5e-2, 1e-2)):
        work, tuner = Mixed(waits, computes), ThreadTuner(16, cores=2)
        work.watch(tuner, 400 * (waits + computes) + 3)
        assert work.pace(tuner.wanted) > 0.9 * work.pace(16), (waits, computes, tuner.wanted)


def test_a_consumer_that_never_waits_needs_no_contest():
    tuner = ThreadTuner(16, cores=2)
    careful = Mixed(1e-3, 2e-4).watch(tuner, 5.0, starving=False)
    assert max(careful) <= 4
    assert not tuner.trying


def test_there_is_no_contest_about_short_blocks():
    tuner = ThreadTuner(16, cores=2)
    assert Mixed(8e-5, 2e-5).watch(tuner, 1.0) == {1}
    assert not tuner.trying


def test_code_that_computes_while_others_have_the_cores_keeps_its_one_thread():
    tuner = ThreadTuner(16, cores=2)
    wanted = Mixed(0.0, 1e-3).watch(tuner, 30.0, cores=0.4)
    assert tuner.wanted == 1
    assert wanted == {1, 2}  # a second one was tried


def test_threads_that_a_contest_found_go_when_reading_waits_no_more():
    tuner = ThreadTuner(16, cores=2)
    Mixed(1e-3, 2e-4).watch(tuner, 5.0)
    assert tuner.wanted > 4
    Mixed(0.0, 5e-4).watch(tuner, 30.0)
    assert tuner.wanted == 1


def test_they_go_also_if_they_keep_the_consumer_from_waiting():
    tuner = ThreadTuner(16, cores=2)
    Mixed(1e-3, 2e-4).watch(tuner, 5.0)
    assert tuner.wanted > 4
    assert watch(tuner, lambda n: 1.5e-3, lambda n: 1e-3, blocks=200, starving=False) == 1


def test_contests_become_rare():
    tuner, began, contests = ThreadTuner(16, cores=2), None, 0
    for _ in range(3000):
        Mixed(1e-3, 2e-4).watch(tuner, 0.1)
        contests += tuner._contest is not None and tuner._contest is not began
        began = tuner._contest
    assert contests < 20  # in five minutes


def test_a_contest_is_called_off_if_threads_do_not_come():
    tuner = ThreadTuner(16, cores=2)
    Mixed(1e-3, 2e-4).watch(tuner, 0.1)
    for number in range(1000):
        tuner.starved()
        tuner.observe(3e-3, 2e-4, 4, 1.0 + number * 1e-3, elements=4)
    assert not tuner.trying


class Loop:
    """A consumer that is handed blocks of ten, each of which takes so long with threads and without; the times are made up."""

    def __init__(self, with_threads, alone, share=1.0):
        self.with_threads, self.alone, self.share = with_threads, alone, share
        self.now, self.cpu, self.pace, self.trials = 100.0, 0.0, Pace(), 0

    def run(self, seconds, probe=(1e-5, 1e-5)):
        end = self.now + seconds
        while self.now < end:
            rest = self.pace.rest
            took = self.alone if rest else self.with_threads
            self.now += took
            self.cpu += self.share * took
            if self.pace.probing:
                self.trials += 1
                self.pace.probe(*probe, self.now)
            self.pace.observe(self.now, self.cpu, 10, rest and self.pace.rest)
        return self.pace.rest


def test_threads_rest_if_the_consumer_gets_on_sooner_without_them():
    assert Loop(with_threads=3e-3, alone=2e-3).run(1.0)


def test_threads_go_on_if_they_help_and_are_tried_less_and_less_often():
    loop = Loop(with_threads=2e-3, alone=3e-3)
    assert not loop.run(4.0)
    assert loop.trials == 1
    loop.run(60.0)
    assert 2 <= loop.trials <= 5


def test_a_consumer_that_does_not_compute_is_not_made_to():
    loop = Loop(with_threads=3e-3, alone=2e-3, share=0.1)
    assert not loop.run(10.0)
    assert not loop.trials


def test_one_element_that_waits_ends_a_trial():
    loop = Loop(with_threads=3e-3, alone=2e-3)
    assert not loop.run(4.0, probe=(2e-3, 1e-4))
    assert loop.trials == 1


def test_threads_go_on_when_the_consumer_begins_to_wait():
    loop = Loop(with_threads=3e-3, alone=2e-3)
    assert loop.run(1.0)
    loop.share = 0.5
    assert not loop.run(0.3)


def test_what_was_better_is_tried_again():
    loop = Loop(with_threads=3e-3, alone=2e-3)
    assert loop.run(1.0)
    loop.with_threads = 1e-3
    loop.run(20.0)
    assert not loop.pace.rest
    assert 2 <= loop.trials <= 3


def test_a_pause_of_the_consumer_is_not_taken_for_slow_threads():
    for pause_at in (0.02, 0.08, 0.12):
        loop = Loop(with_threads=2e-3, alone=3e-3)
        loop.run(pause_at)
        loop.now, loop.cpu = loop.now + 1.0, loop.cpu + 1.0
        assert not loop.run(2.0)


def test_only_trials_put_off_the_next_one():
    loop = Loop(with_threads=3e-3, alone=2e-3)
    for _ in range(10):
        loop.pace.end_trial(loop.now)  # threads rested for another reason, and go on
    assert loop.run(1.0)


def test_what_was_of_no_use_is_tried_less_and_less_often():
    retry, now, pauses = Retry(5, 30), 100.0, []
    assert retry.due(now)
    assert not retry.was_of_no_use
    for _ in range(5):
        retry.put_off(now)
        assert retry.was_of_no_use
        pause = next(seconds for seconds in range(100) if retry.due(now + seconds))
        pauses.append(pause)
        now += pause
    assert pauses == [5, 10, 20, 30, 30]
    retry.restart()
    assert retry.due(now)
    assert not retry.was_of_no_use
    retry.put_off(now)
    assert not retry.due(now + 4)
    assert retry.due(now + 5)


def contest_of(gain, noise, seed):
    """Runs a contest on a machine with noise; returns whether more threads have won, and after how many rounds."""
    rng, contest, now = random.Random(seed), Contest(4, 8), 0.0
    rounds, threads = 1, contest.threads
    while not contest.over:
        if contest.threads != threads:
            rounds, threads = rounds + 1, contest.threads
        pace = 1000 * (gain if threads == 8 else 1) * rng.uniform(1 - noise, 1 + noise)
        for _ in range(4 * threads):
            now += 16 / pace
            contest.add(16, threads, now, starved=10**6)
    return contest.winner == 8, rounds


def test_a_contest_is_short_where_the_difference_is_clear():
    assert contest_of(1.5, 0.0, seed=0) == (True, 2)
    assert contest_of(0.7, 0.0, seed=0) == (False, 2)


def test_a_contest_goes_on_where_the_machine_is_noisy_until_it_can_tell():
    for gain, more in ((1.25, True), (0.9, False)):
        won = [contest_of(gain, 0.25, seed) for seed in range(200)]
        assert sum(winner == more for winner, _ in won) > 180
        assert max(rounds for _, rounds in won) > 4
