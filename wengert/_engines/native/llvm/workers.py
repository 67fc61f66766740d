"""Threads that stand waiting for parts of loops: what of `runtime` shares the iterations of one loop.

A worker is a thread of the system's, made when a loop first wants one and kept for the life of the process; a child of
`fork` begins with none. It waits for work for some microseconds in a loop, since loops that follow one another give it
the next one by then, and after that asleep, at no cost. A call takes workers that are free, waits for none, and does
itself what they have not begun when it comes to it: so a machine that is busy elsewhere makes a loop no slower. Several
threads of Python may call at once and share the workers: no more are made than one call wants. Where workers came too
late or were kept from their work, more and more loops do without, but for long ones.

The iterations of a loop are in ranges, one for each that takes part; who has done its own goes on with the others'. A
range is done in pieces, each claimed by an addition to the range's counter. Which thread does what changes nothing in
results: that iterations do not depend on one another is a matter of who makes the loop.

A job (on the caller's stack): f, data, iterations of a piece, number of ranges, the status that ends it early or 0, the
processor's flags that were set, its settings, how many forks there were before, and from 64 on for each range 64 bytes:
the next iteration and the last. A signal's handler ends it that raises, and one that forks, in the child, which has not
got the workers that were at the job: NumPy's kernels do all of it anew there.

A worker: its state, its job and the range that it begins with, the thread, how long it waits awake; at 64 a mutex, at
128 a condition that wakes it, at 192 one that tells its end to a caller that sleeps. A state is a number that each new
job makes larger by 8, and one of

- 0: waits awake; 1: asleep (both are free)
- 2: claimed by a caller that will give it a job; 3: given one
- 4: at work; 5: at work, and its caller sleeps until it has done
"""

from __future__ import annotations

import signal

from ...._core import system
from ..ir.loops import Status
from .target import is_arm, is_x86

MOST_THREADS = 64
AWAKE = 10_000  # nanoseconds that a worker waits awake
PATIENT = 50_000  # ... and that a caller does for the end of what a worker has begun
EACH = 10_000  # nanoseconds of work that are worth a worker that is awake ...
WAKING = 40_000  # ... and one that sleeps: to wake it takes up to 5 us here, and as many as 50 until it is there
PIECE = 4_000  # nanoseconds of a piece, if that makes no fewer than `FEWEST` ...
FEWEST, MOST = 4, 1024  # ... for each thread, and no more than `MOST`
LONG = 500_000  # nanoseconds from which on to ask a worker in vain is no matter
MOST_SPARED = 63  # loops that ask none after one that has done so in vain
ALONE = 100_000  # nanoseconds of a piece that nobody helps with: after each it is asked for signals

_SHARE = """
@forks = internal global i32 0

; Whether this process is a child of the one that has begun a job.
define private i1 @is.left(ptr %job) {
  %p.forks = getelementptr i8, ptr %job, i64 44
  %then = load i32, ptr %p.forks
  %now = load i32, ptr @forks
  %is.left = icmp ne i32 %then, %now
  ret i1 %is.left
}

; Asks for signals: the status that a job ends with, or OK.
define private i32 @stopped(ptr %job, ptr %context) {
entry:
  %answer = call i32 @wengert_poll(ptr %context)
  %has.raised = icmp ne i32 %answer, 0
  br i1 %has.raised, label %raised, label %look
raised:
  ret i32 INTERRUPTED
look:
  %p.count = getelementptr i8, ptr %job, i64 24
  %count = load i64, ptr %p.count
  %is.shared = icmp sgt i64 %count, 1
  %is.left = call i1 @is.left(ptr %job)
  %is.lost = and i1 %is.shared, %is.left
  %status = select i1 %is.lost, i32 REFUSED, i32 0
  ret i32 %status
}

define private void @share(ptr %task, i64 %place) {
entry:
  %job = load ptr, ptr %task
  %p.context = getelementptr i8, ptr %task, i64 8
  %context = load ptr, ptr %p.context
  %asks = icmp ne ptr %context, null
  %f = load ptr, ptr %job
  %p.data = getelementptr i8, ptr %job, i64 8
  %data = load ptr, ptr %p.data
  %p.piece = getelementptr i8, ptr %job, i64 16
  %piece = load i64, ptr %p.piece
  %p.count = getelementptr i8, ptr %job, i64 24
  %count = load i64, ptr %p.count
  %p.told = getelementptr i8, ptr %job, i64 32
  br label %range
range:
  %k = phi i64 [ 0, %entry ], [ %k.next, %range.end ]
  %some = icmp slt i64 %k, %count
  br i1 %some, label %choose, label %end
choose:
  %ahead = add i64 %place, %k
  %number = urem i64 %ahead, %count
  %before = mul i64 %number, 64
  %offset = add i64 %before, 64
  %p.next = getelementptr i8, ptr %job, i64 %offset
  %p.last = getelementptr i8, ptr %p.next, i64 8
  %last = load i64, ptr %p.last
  br label %next
next:
  %told = load atomic i32, ptr %p.told monotonic, align 4
  %goes.on = icmp eq i32 %told, 0
  br i1 %goes.on, label %claim, label %end
claim:
  %from = atomicrmw add ptr %p.next, i64 %piece monotonic
  %more = icmp slt i64 %from, %last
  br i1 %more, label %work, label %range.end
work:
  %whole = add i64 %from, %piece
  %fits = icmp slt i64 %whole, %last
  %to = select i1 %fits, i64 %whole, i64 %last
  call void %f(ptr %data, i64 %from, i64 %to, ptr %task)
  br i1 %asks, label %ask, label %next
ask:
  %answer = call i32 @stopped(ptr %job, ptr %context)
  %stops = icmp ne i32 %answer, 0
  br i1 %stops, label %tell, label %next
tell:
  store atomic i32 %answer, ptr %p.told monotonic, align 4
  br label %end
range.end:
  %k.next = add i64 %k, 1
  br label %range
end:
  ret void
}

; Fills a job in for so many threads, in pieces of some iterations.
define private void @set(ptr %job, ptr %f, ptr %data, i64 %start, i64 %stop, i64 %count, i64 %pieces) {
entry:
  store ptr %f, ptr %job
  %p.data = getelementptr i8, ptr %job, i64 8
  store ptr %data, ptr %p.data
  %iterations = sub i64 %stop, %start
  %up = add i64 %iterations, %pieces
  %more = sub i64 %up, 1
  %found = sdiv i64 %more, %pieces
  %is.none = icmp slt i64 %found, 1
  %piece = select i1 %is.none, i64 1, i64 %found
  %p.piece = getelementptr i8, ptr %job, i64 16
  store i64 %piece, ptr %p.piece
  %p.count = getelementptr i8, ptr %job, i64 24
  store i64 %count, ptr %p.count
  %p.told = getelementptr i8, ptr %job, i64 32
  store i32 0, ptr %p.told
  %p.flags = getelementptr i8, ptr %job, i64 36
  store i32 0, ptr %p.flags
  %settings = call i32 @settings.found()
  %p.settings = getelementptr i8, ptr %job, i64 40
  store i32 %settings, ptr %p.settings
  %p.forks = getelementptr i8, ptr %job, i64 44
  %forks = load i32, ptr @forks
  store i32 %forks, ptr %p.forks
  br label %range
range:
  %i = phi i64 [ 0, %entry ], [ %i.next, %range ]
  %i.next = add i64 %i, 1
  %low = mul i64 %iterations, %i
  %low.part = sdiv i64 %low, %count
  %first = add i64 %start, %low.part
  %high = mul i64 %iterations, %i.next
  %high.part = sdiv i64 %high, %count
  %last = add i64 %start, %high.part
  %before = mul i64 %i, 64
  %offset = add i64 %before, 64
  %p.next = getelementptr i8, ptr %job, i64 %offset
  store i64 %first, ptr %p.next
  %p.last = getelementptr i8, ptr %p.next, i64 8
  store i64 %last, ptr %p.last
  %is.more = icmp slt i64 %i.next, %count
  br i1 %is.more, label %range, label %end
end:
  ret void
}

; A number no less and no more than these.
define private i64 @between(i64 %x, i64 %least, i64 %most) {
  %is.less = icmp slt i64 %x, %least
  %up = select i1 %is.less, i64 %least, i64 %x
  %is.more = icmp sgt i64 %up, %most
  %found = select i1 %is.more, i64 %most, i64 %up
  ret i64 %found
}
"""

_WORKER = """
@workers = internal global [WORKERS x [256 x i8]] zeroinitializer, align 64
@made = internal global i32 0
@making = internal global i32 0
@spared = internal global i32 0
@sparing = internal global i32 0

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i32 @sigdelset(ptr, i32)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_timedwait(ptr, ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define private void @ring(ptr %worker, ptr %condition) {
  %mutex = getelementptr i8, ptr %worker, i64 64
  %ignored.1 = call i32 @pthread_mutex_lock(ptr %mutex)
  %ignored.2 = call i32 @pthread_mutex_unlock(ptr %mutex)
  %ignored.3 = call i32 @pthread_cond_signal(ptr %condition)
  ret void
}

define private ptr @live(ptr %worker) {
entry:
  %task = alloca [2 x ptr]
  %p.context = getelementptr i8, ptr %task, i64 8
  store ptr null, ptr %p.context
  %p.job = getelementptr i8, ptr %worker, i64 8
  %p.place = getelementptr i8, ptr %worker, i64 16
  %p.awake = getelementptr i8, ptr %worker, i64 32
  %awake = load i64, ptr %p.awake
  %mutex = getelementptr i8, ptr %worker, i64 64
  %bell = getelementptr i8, ptr %worker, i64 128
  %end = getelementptr i8, ptr %worker, i64 192
  br label %rest
rest:
  %begun = call i64 @now()
  br label %look
look:
  %state = load atomic i32, ptr %worker acquire, align 4
  %status = and i32 %state, 7
  switch i32 %status, label %pause [ i32 0, label %wait i32 3, label %take ]
pause:
  call void @pause()
  br label %look
wait:
  call void @pause()
  %now = call i64 @now()
  %since = sub i64 %now, %begun
  %is.long = icmp sgt i64 %since, %awake
  br i1 %is.long, label %sleep, label %look
sleep:
  %asleep = or i32 %state, 1
  %put = cmpxchg ptr %worker, i32 %state, i32 %asleep acq_rel acquire
  %may.sleep = extractvalue { i32, i1 } %put, 1
  br i1 %may.sleep, label %lock, label %look
lock:
  %ignored.1 = call i32 @pthread_mutex_lock(ptr %mutex)
  br label %listen
listen:
  %found = load atomic i32, ptr %worker acquire, align 4
  %sleeps = icmp eq i32 %found, %asleep
  br i1 %sleeps, label %doze, label %wake
doze:
  %ignored.2 = call i32 @pthread_cond_wait(ptr %bell, ptr %mutex)
  br label %listen
wake:
  %ignored.3 = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %rest
take:
  %running = add i32 %state, 1
  %got = cmpxchg ptr %worker, i32 %state, i32 %running acq_rel acquire
  %is.mine = extractvalue { i32, i1 } %got, 1
  br i1 %is.mine, label %do, label %look
do:
  %job = load ptr, ptr %p.job
  %place = load i64, ptr %p.place
  store ptr %job, ptr %task
  %p.settings = getelementptr i8, ptr %job, i64 40
  %settings = load i32, ptr %p.settings
  call void @settings.set(i32 %settings)
  call void @share(ptr %task, i64 %place)
  %flags = call i32 @flags.found()
  %p.flags = getelementptr i8, ptr %job, i64 36
  %ignored.4 = atomicrmw or ptr %p.flags, i32 %flags monotonic
  %free = and i32 %running, -8
  %before = atomicrmw xchg ptr %worker, i32 %free acq_rel
  %is.awaited = icmp ne i32 %before, %running
  br i1 %is.awaited, label %tell, label %rest
tell:
  call void @ring(ptr %worker, ptr %end)
  br label %rest
}

; Another worker, claimed; null if there can be none now. Signals are for the threads of Python.
define private ptr @hire() {
entry:
  %mask = alloca [16 x i64]
  %old = alloca [16 x i64]
  %got = cmpxchg ptr @making, i32 0, i32 1 acquire monotonic
  %is.mine = extractvalue { i32, i1 } %got, 1
  br i1 %is.mine, label %count, label %none
count:
  %made = load i32, ptr @made
  %is.room = icmp slt i32 %made, WORKERS
  br i1 %is.room, label %new, label %leave
new:
  %number = sext i32 %made to i64
  %worker = getelementptr [256 x i8], ptr @workers, i64 %number
  call void @llvm.memset.p0.i64(ptr %worker, i8 0, i64 256, i1 false)
  %mutex = getelementptr i8, ptr %worker, i64 64
  %bell = getelementptr i8, ptr %worker, i64 128
  %end = getelementptr i8, ptr %worker, i64 192
  %ignored.1 = call i32 @pthread_mutex_init(ptr %mutex, ptr null)
  %ignored.2 = call i32 @pthread_cond_init(ptr %bell, ptr null)
  %ignored.3 = call i32 @pthread_cond_init(ptr %end, ptr null)
  %has.core = icmp slt i64 %number, OTHER_CORES
  %awake = select i1 %has.core, i64 AWAKE, i64 0
  %p.awake = getelementptr i8, ptr %worker, i64 32
  store i64 %awake, ptr %p.awake
  store atomic i32 10, ptr %worker release, align 4
  %ignored.4 = call i32 @sigfillset(ptr %mask)
KEPT
  %ignored.5 = call i32 @pthread_sigmask(i32 SET_MASK, ptr %mask, ptr %old)
  %p.thread = getelementptr i8, ptr %worker, i64 24
  %failed = call i32 @pthread_create(ptr %p.thread, ptr null, ptr @live, ptr %worker)
  %ignored.6 = call i32 @pthread_sigmask(i32 SET_MASK, ptr %old, ptr null)
  %is.there = icmp eq i32 %failed, 0
  br i1 %is.there, label %begun, label %leave
begun:
  %thread = load i64, ptr %p.thread
  %ignored.7 = call i32 @pthread_detach(i64 %thread)
  %more = add i32 %made, 1
  store atomic i32 %more, ptr @made release, align 4
  br label %leave
leave:
  %found = phi ptr [ null, %count ], [ null, %new ], [ %worker, %begun ]
  store atomic i32 0, ptr @making release, align 4
  ret ptr %found
none:
  ret ptr null
}

define void @wengert_forget() {
  store i32 0, ptr @made
  store i32 0, ptr @making
  %before = load i32, ptr @forks
  %more = add i32 %before, 1
  store i32 %more, ptr @forks
  ret void
}
"""

# A hand: a worker that a caller has claimed, its state then, and whether it slept.
_PARALLEL = """
define private i64 @claim(ptr %hands, i64 %wanted, i1 %wakes) {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %on ]
  %n = phi i64 [ 0, %entry ], [ %n.next, %on ]
  %is.enough = icmp sge i64 %n, %wanted
  br i1 %is.enough, label %done, label %more
more:
  %hand = getelementptr [2 x i64], ptr %hands, i64 %n
  %p.state = getelementptr i8, ptr %hand, i64 8
  %p.slept = getelementptr i8, ptr %hand, i64 12
  %made.short = load atomic i32, ptr @made acquire, align 4
  %made = sext i32 %made.short to i64
  %is.there = icmp slt i64 %i, %made
  br i1 %is.there, label %look, label %none
look:
  %worker = getelementptr [256 x i8], ptr @workers, i64 %i
  %state = load atomic i32, ptr %worker acquire, align 4
  %status = and i32 %state, 7
  %is.awake = icmp eq i32 %status, 0
  %is.asleep = icmp eq i32 %status, 1
  %may.wake = and i1 %is.asleep, %wakes
  %is.free = or i1 %is.awake, %may.wake
  br i1 %is.free, label %try, label %on
try:
  %bare = and i32 %state, -8
  %claimed = add i32 %bare, 10
  %got = cmpxchg ptr %worker, i32 %state, i32 %claimed acq_rel acquire
  %is.mine = extractvalue { i32, i1 } %got, 1
  br i1 %is.mine, label %mine, label %on
mine:
  store ptr %worker, ptr %hand
  store i32 %claimed, ptr %p.state
  %slept = zext i1 %is.asleep to i32
  store i32 %slept, ptr %p.slept
  br label %taken
none:
  %are.few = icmp slt i64 %made, %wanted
  %hires = and i1 %are.few, %wakes
  br i1 %hires, label %make, label %done
make:
  %new = call ptr @hire()
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %done, label %hired
hired:
  store ptr %new, ptr %hand
  store i32 10, ptr %p.state
  store i32 0, ptr %p.slept
  br label %taken
taken:
  %n.more = add i64 %n, 1
  br label %on
on:
  %n.next = phi i64 [ %n, %look ], [ %n, %try ], [ %n.more, %taken ]
  %i.next = add i64 %i, 1
  br label %next
done:
  ret i64 %n
}

define private void @give(ptr %hands, i64 %count, ptr %job) {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %place, %given ]
  %place = add i64 %i, 1
  %hand = getelementptr [2 x i64], ptr %hands, i64 %i
  %worker = load ptr, ptr %hand
  %p.state = getelementptr i8, ptr %hand, i64 8
  %claimed = load i32, ptr %p.state
  %p.slept = getelementptr i8, ptr %hand, i64 12
  %slept = load i32, ptr %p.slept
  %p.job = getelementptr i8, ptr %worker, i64 8
  store ptr %job, ptr %p.job
  %p.place = getelementptr i8, ptr %worker, i64 16
  store i64 %place, ptr %p.place
  %state = add i32 %claimed, 1
  store atomic i32 %state, ptr %worker release, align 4
  %is.asleep = icmp ne i32 %slept, 0
  br i1 %is.asleep, label %wake, label %given
wake:
  %bell = getelementptr i8, ptr %worker, i64 128
  call void @ring(ptr %worker, ptr %bell)
  br label %given
given:
  %more = icmp slt i64 %place, %count
  br i1 %more, label %next, label %done
done:
  ret void
}

; Takes the job from those that have not begun it, and waits for the others; this thread asks for signals meanwhile.
define private void @await(ptr %hands, i64 %count, ptr %task, i1 %notes) {
entry:
  %time = alloca [2 x i64]
  %p.rest = getelementptr i64, ptr %time, i64 1
  %job = load ptr, ptr %task
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %noted ]
  %is.left = call i1 @is.left(ptr %job)
  br i1 %is.left, label %done, label %here
here:
  %hand = getelementptr [2 x i64], ptr %hands, i64 %i
  %worker = load ptr, ptr %hand
  %p.state = getelementptr i8, ptr %hand, i64 8
  %claimed = load i32, ptr %p.state
  %given = add i32 %claimed, 1
  %runs = add i32 %claimed, 2
  %awaited = add i32 %claimed, 3
  %free = sub i32 %claimed, 2
  %mutex = getelementptr i8, ptr %worker, i64 64
  %end = getelementptr i8, ptr %worker, i64 192
  %back = cmpxchg ptr %worker, i32 %given, i32 %free acq_rel acquire
  %is.back = extractvalue { i32, i1 } %back, 1
  br i1 %is.back, label %late, label %begin
begin:
  %begun = call i64 @now()
  br label %look
look:
  %state = load atomic i32, ptr %worker acquire, align 4
  %is.at.work = icmp eq i32 %state, %runs
  br i1 %is.at.work, label %pause, label %ended
pause:
  call void @pause()
  %now = call i64 @now()
  %since = sub i64 %now, %begun
  %is.long = icmp sgt i64 %since, PATIENT
  br i1 %is.long, label %settle, label %look
settle:
  %put = cmpxchg ptr %worker, i32 %runs, i32 %awaited acq_rel acquire
  %may.sleep = extractvalue { i32, i1 } %put, 1
  br i1 %may.sleep, label %lock, label %late
lock:
  %ignored.1 = call i32 @pthread_mutex_lock(ptr %mutex)
  %before = load atomic i32, ptr %worker acquire, align 4
  %goes.on = icmp eq i32 %before, %awaited
  br i1 %goes.on, label %doze, label %unlock
doze:
  %ignored.2 = call i32 @clock_gettime(i32 0, ptr %time)
  %rest = load i64, ptr %p.rest
  %later = add i64 %rest, LOOK_EVERY
  %carries = icmp sge i64 %later, 1000000000
  %carry = zext i1 %carries to i64
  %too.much = select i1 %carries, i64 1000000000, i64 0
  %left = sub i64 %later, %too.much
  store i64 %left, ptr %p.rest
  %seconds = load i64, ptr %time
  %then = add i64 %seconds, %carry
  store i64 %then, ptr %time
  %ignored.3 = call i32 @pthread_cond_timedwait(ptr %end, ptr %mutex, ptr %time)
  %ignored.4 = call i32 @pthread_mutex_unlock(ptr %mutex)
  %ignored.5 = call i32 @wengert_ask(ptr %task)
  %left.now = call i1 @is.left(ptr %job)
  br i1 %left.now, label %done, label %lock
unlock:
  %ignored.6 = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %late
late:
  br label %ended
ended:
  %is.late = phi i1 [ false, %look ], [ true, %late ]
  br i1 %notes, label %note, label %noted
note:
  call void @note(i1 %is.late)
  br label %noted
noted:
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %count
  br i1 %more, label %next, label %done
done:
  ret void
}

; A worker was late, or not: how many loops ask none now.
define private void @note(i1 %is.late) {
  %before = load atomic i32, ptr @sparing monotonic, align 4
  %twice = shl i32 %before, 1
  %more = or i32 %twice, 1
  %bounded = and i32 %more, MOST_SPARED
  %half = lshr i32 %before, 1
  %sparing = select i1 %is.late, i32 %bounded, i32 %half
  store atomic i32 %sparing, ptr @sparing monotonic, align 4
  store atomic i32 %sparing, ptr @spared monotonic, align 4
  ret void
}

; How workers are asked for a loop. 0: none; 1: those that are awake; 2: others, too, for a long one, or one of many
; that follow one another closely.
define private i32 @asking(ptr %context, i64 %cost) {
entry:
  %is.long = icmp sge i64 %cost, LONG
  %is.nobodys = icmp eq ptr %context, null
  %is.sure = or i1 %is.long, %is.nobodys
  br i1 %is.sure, label %yes, label %look
yes:
  ret i32 2
look:
  %spared = load atomic i32, ptr @spared monotonic, align 4
  %are.spared = icmp sgt i32 %spared, 0
  br i1 %are.spared, label %spare, label %measure
spare:
  %less = sub i32 %spared, 1
  store atomic i32 %less, ptr @spared monotonic, align 4
  ret i32 0
measure:
  %is.enough = icmp sge i64 %cost, WAKING
  br i1 %is.enough, label %yes, label %short
short:
  %p.sum = getelementptr i8, ptr %context, i64 SHORT_SUM
  %p.at = getelementptr i8, ptr %context, i64 SHORT_AT
  %sum = load i64, ptr %p.sum
  %at = load i64, ptr %p.at
  %now = call i64 @now()
  %since = sub i64 %now, %at
  %twice = mul i64 %cost, 2
  %near = add i64 %twice, AWAKE
  %follows = icmp sle i64 %since, %near
  %before = select i1 %follows, i64 %sum, i64 0
  %all = add i64 %before, %cost
  %is.much = icmp sge i64 %all, WAKING
  %kept = select i1 %is.much, i64 0, i64 %all
  store i64 %kept, ptr %p.sum
  store i64 %now, ptr %p.at
  %found = select i1 %is.much, i32 2, i32 1
  ret i32 %found
}

define i32 @wengert_parallel(ptr %context, ptr %f, ptr %data, i64 %start, i64 %stop, i64 %threads, i64 %cost) {
entry:
  %job = alloca [JOB x i8], align 64
  %hands = alloca [WORKERS x [2 x i64]]
  %task = alloca [2 x ptr]
  store ptr %job, ptr %task
  %p.context = getelementptr i8, ptr %task, i64 8
  store ptr %context, ptr %p.context
  %iterations = sub i64 %stop, %start
  %worth.each = sdiv i64 %cost, EACH
  %few = call i64 @between(i64 %threads, i64 1, i64 MOST_THREADS)
  %fewer = call i64 @between(i64 %worth.each, i64 1, i64 %few)
  %able = call i64 @between(i64 %iterations, i64 1, i64 %fewer)
  %others = sub i64 %able, 1
  %is.alone = icmp slt i64 %others, 1
  br i1 %is.alone, label %alone, label %seek
seek:
  %asking = call i32 @asking(ptr %context, i64 %cost)
  %asks = icmp ne i32 %asking, 0
  br i1 %asks, label %ask, label %alone
ask:
  %wakes = icmp eq i32 %asking, 2
  %found = call i64 @claim(ptr %hands, i64 %others, i1 %wakes)
  %is.none = icmp eq i64 %found, 0
  br i1 %is.none, label %alone, label %together
alone:
  %long.pieces = sdiv i64 %cost, ALONE
  %alone.pieces = call i64 @between(i64 %long.pieces, i64 1, i64 MOST)
  call void @set(ptr %job, ptr %f, ptr %data, i64 %start, i64 %stop, i64 1, i64 %alone.pieces)
  call void @share(ptr %task, i64 0)
  br label %end
together:
  %count = add i64 %found, 1
  %least = mul i64 %count, FEWEST
  %most = mul i64 %count, MOST
  %wanted = sdiv i64 %cost, PIECE
  %pieces = call i64 @between(i64 %wanted, i64 %least, i64 %most)
  call void @set(ptr %job, ptr %f, ptr %data, i64 %start, i64 %stop, i64 %count, i64 %pieces)
  call void @give(ptr %hands, i64 %found, ptr %job)
  call void @share(ptr %task, i64 0)
  %notes = icmp slt i64 %cost, LONG
  call void @await(ptr %hands, i64 %found, ptr %task, i1 %notes)
  %p.flags = getelementptr i8, ptr %job, i64 36
  %other.flags = load i32, ptr %p.flags
  %own.flags = call i32 @flags.found()
  %both.flags = or i32 %own.flags, %other.flags
  %is.more = icmp ne i32 %both.flags, %own.flags
  br i1 %is.more, label %flag, label %end
flag:
  call void @flags.set(i32 %both.flags)
  br label %end
end:
  %p.told = getelementptr i8, ptr %job, i64 32
  %answer = load atomic i32, ptr %p.told monotonic, align 4
  ret i32 %answer
}
"""

_ONE_AFTER_THE_OTHER = """
define i32 @wengert_parallel(ptr %context, ptr %f, ptr %data, i64 %start, i64 %stop, i64 %threads, i64 %cost) {
  %job = alloca [128 x i8], align 64
  %task = alloca [2 x ptr]
  store ptr %job, ptr %task
  %p.context = getelementptr i8, ptr %task, i64 8
  store ptr %context, ptr %p.context
  %long.pieces = sdiv i64 %cost, ALONE
  %pieces = call i64 @between(i64 %long.pieces, i64 1, i64 MOST)
  call void @set(ptr %job, ptr %f, ptr %data, i64 %start, i64 %stop, i64 1, i64 %pieces)
  call void @share(ptr %task, i64 0)
  %p.told = getelementptr i8, ptr %job, i64 32
  %answer = load i32, ptr %p.told
  ret i32 %answer
}
define void @wengert_forget() {
  ret void
}
"""

_PAUSES = {
    "x86": ("declare void @llvm.x86.sse2.pause()", "  call void @llvm.x86.sse2.pause()"),
    "arm": ("declare void @llvm.aarch64.hint(i32)", "  call void @llvm.aarch64.hint(i32 1)"),
}

# What a mistake of the thread's own raises: a thread that does not hear of it ends the process without a word.
_OWN_SIGNALS = ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGABRT")


def _pause() -> str:
    """`void @pause()`: waits for some cycles, and lets what shares the core have them."""
    kind = "x86" if is_x86() else "arm" if is_arm() else ""
    declared, called = _PAUSES.get(kind, ("", ""))
    return f"{declared}\ndefine private void @pause() {{\n{called}\n  ret void\n}}\n"


def _kept() -> str:
    """What leaves a thread the signals that it raises itself."""
    numbers = [int(getattr(signal, name)) for name in _OWN_SIGNALS if hasattr(signal, name)]
    return "\n".join(f"  %kept.{n} = call i32 @sigdelset(ptr %mask, i32 {n})" for n in numbers)


def workers_ir(look_every: int, short_sum: int, short_at: int) -> str:
    """`wengert_parallel` and `wengert_forget`, in terms of what `runtime` has besides.

    Args:
        look_every: nanoseconds between two looks at signals.
        short_sum: where a call's context has the cost of the short loops that follow one another.
        short_at: ... and when the last of them began.
    """
    text = _SHARE
    if system.SYSTEM.has_threads:
        text += _pause() + _WORKER.replace("KEPT", _kept()) + _PARALLEL
    else:
        text += _ONE_AFTER_THE_OTHER
    numbers = {
        "OTHER_CORES": system.SYSTEM.processors() - 1, "SET_MASK": int(getattr(signal, "SIG_SETMASK", 0)),
        "LOOK_EVERY": look_every, "SHORT_SUM": short_sum, "SHORT_AT": short_at, "JOB": 64 * (1 + MOST_THREADS),
        "MOST_THREADS": MOST_THREADS, "WORKERS": MOST_THREADS - 1, "AWAKE": AWAKE, "PATIENT": PATIENT, "EACH": EACH,
        "WAKING": WAKING, "LONG": LONG, "MOST_SPARED": MOST_SPARED, "PIECE": PIECE, "FEWEST": FEWEST, "MOST": MOST,
        "ALONE": ALONE, "INTERRUPTED": int(Status.INTERRUPTED), "REFUSED": int(Status.REFUSED),
    }  # fmt: skip
    for name, number in numbers.items():
        text = text.replace(name, str(number))
    return text
