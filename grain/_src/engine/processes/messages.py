"""The messages between the training process and a worker: small tuples, the first item says which.

To the worker:
  (INIT, worker index, number of workers, arena budget)        body: the user's init function
  (STAGE, stage number)                                        body: the stage; with descriptors
  (BLOCK, task, stage number, released slots, request)         body: data of the request
  (SKIP, task)                                                 nobody wants its result, or the rest of it, any more
From the worker:
  (READY, whether the init function has run)
  (DONE, task, head of the elements, marks, error, state, unfinished, holes, seconds, bytes, records)
      body: the elements; if it is unfinished the worker goes on with it from that state, and answers again
  (UNKNOWN_MODULE, stage number, module)                       the stage could not be unpickled for want of a module
  (FAILED, error)                                              nothing can be done: the init function or a stage is broken
"""

INIT, STAGE, BLOCK, SKIP, READY, DONE, UNKNOWN_MODULE, FAILED = range(8)
