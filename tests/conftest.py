"""What holds for all tests: how hypothesis searches."""

from hypothesis import HealthCheck, settings

# Machines that run tests are busy: a slow example says nothing, and the same examples everywhere make failures repeat.
settings.register_profile(
    "repository", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], max_examples=60
)
settings.load_profile("repository")
