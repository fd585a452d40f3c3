"""Which element comes next: pure integer arithmetic on arrays and on plain ints."""
