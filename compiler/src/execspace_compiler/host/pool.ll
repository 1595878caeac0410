; A pool of threads that runs the parts of a launch, of which the caller takes what others leave.
;
; A launch has a generation g. The slot of each of its parts holds 2g + 1 while the part is open, and
; 2g + 2 once somebody has claimed it, by compare and exchange. So no part runs twice, a thread that
; comes late claims nothing of a launch that is over, and whoever holds a part may read what the
; launch is: it is not over, and thus the same, until that part is done.
;
; A launch waits for parts that others have begun, never for a thread that has not: what is still
; open when the caller is done with its own part it runs itself, as do threads that find nothing of
; their own left. In a child of a fork, where there are no workers, it runs everything.
;
; Words in capitals are put in by pool.py. Whatever different threads write lies 128 bytes apart:
; processors fetch lines of 64 bytes in pairs.

%time = type { i64, i64 }

; -- the launch: what runs, with what, how many parts, how many threads at most; on which processor the
; caller was, and the worker that claimed a part last; and the slots.
; Memory that threads read while another may write it is read and written atomically.
%launch = type { ptr, ptr, i64, i64, i32, i32, [SLOTS x i64] }
@launch = internal global %launch { ptr null, ptr null, i64 1, i64 1, i32 -1, i32 -1, [SLOTS x i64] zeroinitializer }, align 128

@epoch = internal global i64 0, align 128        ; generation of the last launch; workers wait for another
@remaining = internal global i64 0, align 128    ; parts that are not done; the caller waits for none
@idle = internal global i64 0, align 128         ; workers that sleep, or are about to
@waiting = internal global i64 0, align 128      ; whether the caller sleeps, or is about to
@busy = internal global i32 0, align 128         ; whether somebody launches
@workers = internal global i64 0, align 128      ; how many were started; of whoever set @busy

; -- what pool.py sets
@execspace_pool_threads = global i64 1, align 128     ; of a launch at most, the caller among them
@execspace_pool_spin = global i64 0                   ; nanoseconds that a thread looks before it sleeps
@execspace_pool_attributes = global [16 x i64] zeroinitializer  ; a pthread_attr_t
@execspace_pool_blocked = global [16 x i64] zeroinitializer     ; a sigset_t

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @clock_gettime(i32, ptr)
declare i32 @sched_getcpu()
declare i64 @syscall(i64, ...)


; -- waiting ----------------------------------------------------------------------------------

define internal i64 @now() {
  %t = alloca %time
  %ok = call i32 @clock_gettime(i32 1, ptr %t)  ; CLOCK_MONOTONIC
  %s = load i64, ptr %t
  %at = getelementptr %time, ptr %t, i64 0, i32 1
  %ns = load i64, ptr %at
  %whole = mul i64 %s, 1000000000
  %sum = add i64 %whole, %ns
  ret i64 %sum
}

; Return when *word is no longer `value`, perhaps earlier: spin a while, then sleep. Who waits on the
; very processor where the thread was that it waits for sleeps at once: where all others are
; taken, Linux wakes a thread there, in place of the one that woke it. The kernel compares the low half, at the same address on the processors that pool.py allows. A thread that
; sleeps through exactly 2^32 launches misses one, which the others then run.
define internal void @wait(ptr %word, i64 %value, ptr %asleep, ptr %processor) {
entry:
  %budget = load atomic i64, ptr @execspace_pool_spin monotonic, align 8
  %spins = icmp sgt i64 %budget, 0
  br i1 %spins, label %place, label %doze
place:
  %n.from = phi i64 [ 0, %entry ], [ 1, %clock ]
  %begin.from = phi i64 [ 0, %entry ], [ %begin.set, %clock ]
  %here = call i32 @sched_getcpu()
  %there = load atomic i32, ptr %processor monotonic, align 4
  %shared = icmp eq i32 %here, %there
  br i1 %shared, label %doze, label %look
look:
  %n = phi i64 [ %n.from, %place ], [ %n.next, %pause ]
  %begin = phi i64 [ %begin.from, %place ], [ %begin, %pause ]
  %seen = load atomic i64, ptr %word monotonic, align 8
  %same = icmp eq i64 %seen, %value
  br i1 %same, label %pause, label %over
pause:
  PAUSE
  %n.next = add i64 %n, 1
  %often = icmp uge i64 %n, 32
  br i1 %often, label %clock, label %look
clock:
  %t = call i64 @now()
  %first = icmp eq i64 %begin, 0
  %begin.set = select i1 %first, i64 %t, i64 %begin
  %spun = sub i64 %t, %begin.set
  %more = icmp slt i64 %spun, %budget
  br i1 %more, label %place, label %doze
doze:
  ; Whoever changes the word looks for sleepers after that, and we look at the word after we are
  ; counted; all four in one order. So we see the change, or are seen.
  %ignored = atomicrmw add ptr %asleep, i64 1 seq_cst
  %again = load atomic i64, ptr %word seq_cst, align 8
  %still = icmp eq i64 %again, %value
  br i1 %still, label %sleep, label %awake
sleep:
  %low = trunc i64 %value to i32
  %rc = call i64 (i64, ...) @syscall(i64 FUTEX, ptr %word, i32 128, i32 %low, ptr null)
  br label %awake
awake:
  %ignored.too = atomicrmw sub ptr %asleep, i64 1 monotonic
  br label %over
over:
  ret void
}

define internal void @wake(ptr %word) {
  %rc = call i64 (i64, ...) @syscall(i64 FUTEX, ptr %word, i32 129, i32 2147483647)
  ret void
}


; -- parts ------------------------------------------------------------------------------------

; One part less; the last one wakes the caller if it sleeps. Returns whether it was the last.
define internal i1 @done() {
  %before = atomicrmw sub ptr @remaining, i64 1 seq_cst
  %last = icmp eq i64 %before, 1
  br i1 %last, label %look, label %over
look:
  %sleeps = load atomic i64, ptr @waiting seq_cst, align 8
  %none = icmp eq i64 %sleeps, 0
  br i1 %none, label %over, label %wake
wake:
  call void @wake(ptr @remaining)
  br label %over
over:
  ret i1 %last
}

; Run part k unless somebody has claimed it, or there is no such part in the launch.
define internal void @claim(i64 %me, i64 %k, i64 %open) {
  %slot = getelementptr %launch, ptr @launch, i64 0, i32 6, i64 %k
  %taken = add i64 %open, 1
  %pair = cmpxchg ptr %slot, i64 %open, i64 %taken acquire monotonic
  %mine = extractvalue { i64, i1 } %pair, 1
  br i1 %mine, label %claimed, label %over
claimed:
  %caller = icmp eq i64 %me, 0
  br i1 %caller, label %run, label %note
note:
  %here = call i32 @sched_getcpu()
  %helper.at = getelementptr %launch, ptr @launch, i64 0, i32 5
  store atomic i32 %here, ptr %helper.at monotonic, align 4
  br label %run
run:
  %function = load atomic ptr, ptr @launch monotonic, align 8
  %data.at = getelementptr %launch, ptr @launch, i64 0, i32 1
  %data = load atomic ptr, ptr %data.at monotonic, align 8
  call void %function(ptr %data, i64 %k)
  %last = call i1 @done()
  br label %over
over:
  ret void
}

; The same for a part that has probably been claimed: looking does not take the line from others.
define internal void @try(i64 %me, i64 %k, i64 %open) {
  %slot = getelementptr %launch, ptr @launch, i64 0, i32 6, i64 %k
  %seen = load atomic i64, ptr %slot monotonic, align 8
  %is.open = icmp eq i64 %seen, %open
  br i1 %is.open, label %claim, label %over
claim:
  call void @claim(i64 %me, i64 %k, i64 %open)
  br label %over
over:
  ret void
}

; After the part that has a thread's own number: the further ones of this thread, every members-th,
; so that parts stay with their threads' caches and memory; then those that others have not begun.
define internal void @take(i64 %me, i64 %members, i64 %parts, i64 %open) {
entry:
  br label %own
own:
  %k.last = phi i64 [ %me, %entry ], [ %k, %mine ]
  %k = add i64 %k.last, %members
  %more = icmp ult i64 %k, %parts
  br i1 %more, label %mine, label %others
mine:
  call void @try(i64 %me, i64 %k, i64 %open)
  br label %own
others:
  %begin = urem i64 %me, %parts
  br label %each
each:
  %j = phi i64 [ %begin, %others ], [ %j.next, %each ]
  call void @try(i64 %me, i64 %j, i64 %open)
  %after = add i64 %j, 1
  %wraps = icmp eq i64 %after, %parts
  %j.next = select i1 %wraps, i64 0, i64 %after
  %all = icmp eq i64 %j.next, %begin
  br i1 %all, label %over, label %each
over:
  ret void
}


; -- threads ----------------------------------------------------------------------------------

define internal ptr @work(ptr %number) {
entry:
  %me = ptrtoint ptr %number to i64
  br label %look
look:
  ; What is read after the generation may belong to the next launch already; then no slot is open.
  %g = load atomic i64, ptr @epoch acquire, align 8
  %threads = load atomic i64, ptr @execspace_pool_threads monotonic, align 8
  %takes.part = icmp ult i64 %me, %threads
  br i1 %takes.part, label %help, label %rest
help:
  %twice = shl i64 %g, 1
  %open = add i64 %twice, 1
  call void @claim(i64 %me, i64 %me, i64 %open)
  %parts.at = getelementptr %launch, ptr @launch, i64 0, i32 2
  %parts = load atomic i64, ptr %parts.at monotonic, align 8
  %members.at = getelementptr %launch, ptr @launch, i64 0, i32 3
  %members = load atomic i64, ptr %members.at monotonic, align 8
  call void @take(i64 %me, i64 %members, i64 %parts, i64 %open)
  br label %rest
rest:
  %caller.at = getelementptr %launch, ptr @launch, i64 0, i32 4
  call void @wait(ptr @epoch, i64 %g, ptr @idle, ptr %caller.at)
  br label %look
}

; Start workers until there are enough. Where the system gives no more, those that there are must do.
define internal void @grow(i64 %threads) noinline {
entry:
  %mask = alloca [16 x i64]
  %id = alloca i64
  %set = call i32 @pthread_sigmask(i32 2, ptr @execspace_pool_blocked, ptr %mask)  ; SIG_SETMASK
  %old = load atomic i64, ptr @workers monotonic, align 8
  %first = add i64 %old, 1
  br label %each
each:
  %w = phi i64 [ %first, %entry ], [ %w.next, %started ]
  %more = icmp ult i64 %w, %threads
  br i1 %more, label %start, label %over
start:
  %number = inttoptr i64 %w to ptr
  %rc = call i32 @pthread_create(ptr %id, ptr @execspace_pool_attributes, ptr @work, ptr %number)
  %ok = icmp eq i32 %rc, 0
  br i1 %ok, label %started, label %refused
started:
  store atomic i64 %w, ptr @workers monotonic, align 8
  %w.next = add i64 %w, 1
  br label %each
refused:
  store atomic i64 %w, ptr @execspace_pool_threads monotonic, align 8
  br label %over
over:
  %reset = call i32 @pthread_sigmask(i32 2, ptr %mask, ptr null)
  ret void
}


; -- a launch ---------------------------------------------------------------------------------

; Call function(data, part) for each part; return when all have returned.
define void @execspace_pool_run(ptr %function, ptr %data, i64 %parts) {
entry:
  %fits = icmp ule i64 %parts, SLOTS
  %some = icmp sgt i64 %parts, 0
  %can = and i1 %fits, %some
  br i1 %can, label %lock, label %alone
lock:
  %pair = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %free = extractvalue { i32, i1 } %pair, 1
  br i1 %free, label %count, label %alone

alone:  ; another thread launches, and has the workers
  %runs = icmp sgt i64 %parts, 0
  br i1 %runs, label %each, label %end
each:
  %k = phi i64 [ 0, %alone ], [ %k.next, %each ]
  call void %function(ptr %data, i64 %k)
  %k.next = add i64 %k, 1
  %done = icmp eq i64 %k.next, %parts
  br i1 %done, label %end, label %each
end:
  ret void

count:
  %threads = load atomic i64, ptr @execspace_pool_threads monotonic, align 8
  %workers = load atomic i64, ptr @workers monotonic, align 8
  %few = add i64 %workers, 1
  %short = icmp ult i64 %few, %threads
  br i1 %short, label %grow, label %publish
grow:
  call void @grow(i64 %threads)
  %workers.now = load atomic i64, ptr @workers monotonic, align 8
  %now = add i64 %workers.now, 1
  br label %publish
publish:
  %there = phi i64 [ %few, %count ], [ %now, %grow ]
  %too.many = icmp ugt i64 %there, %threads
  %members = select i1 %too.many, i64 %threads, i64 %there
  %last = load atomic i64, ptr @epoch monotonic, align 8
  %g = add i64 %last, 1
  %twice = shl i64 %g, 1
  %open = add i64 %twice, 1
  %taken = add i64 %twice, 2
  store atomic ptr %function, ptr @launch monotonic, align 8
  %data.at = getelementptr %launch, ptr @launch, i64 0, i32 1
  store atomic ptr %data, ptr %data.at monotonic, align 8
  %parts.at = getelementptr %launch, ptr @launch, i64 0, i32 2
  store atomic i64 %parts, ptr %parts.at monotonic, align 8
  %members.at = getelementptr %launch, ptr @launch, i64 0, i32 3
  store atomic i64 %members, ptr %members.at monotonic, align 8
  %caller.at = getelementptr %launch, ptr @launch, i64 0, i32 4
  %here = call i32 @sched_getcpu()
  store atomic i32 %here, ptr %caller.at monotonic, align 4
  %helper.at = getelementptr %launch, ptr @launch, i64 0, i32 5
  store atomic i32 -1, ptr %helper.at monotonic, align 4
  store atomic i64 %parts, ptr @remaining monotonic, align 8
  %slot.0 = getelementptr %launch, ptr @launch, i64 0, i32 6, i64 0
  store atomic i64 %taken, ptr %slot.0 monotonic, align 8
  br label %next
next:
  %n = phi i64 [ 1, %publish ], [ %n.next, %fill ]
  %left = icmp ult i64 %n, %parts
  br i1 %left, label %fill, label %ring
fill:
  %slot = getelementptr %launch, ptr @launch, i64 0, i32 6, i64 %n
  store atomic i64 %open, ptr %slot monotonic, align 8
  %n.next = add i64 %n, 1
  br label %next
ring:
  ; Who reads this generation, and only he claims parts of it, finds all that was stored above.
  store atomic i64 %g, ptr @epoch seq_cst, align 8
  %asleep = load atomic i64, ptr @idle seq_cst, align 8
  %all.awake = icmp eq i64 %asleep, 0
  br i1 %all.awake, label %run, label %wake
wake:
  call void @wake(ptr @epoch)
  br label %run
run:
  call void %function(ptr %data, i64 0)
  %was.last = call i1 @done()
  br i1 %was.last, label %unlock, label %help
help:
  call void @take(i64 0, i64 %members, i64 %parts, i64 %open)
  br label %join
join:
  %remain = load atomic i64, ptr @remaining acquire, align 8
  %none = icmp eq i64 %remain, 0
  br i1 %none, label %unlock, label %sleep
sleep:
  call void @wait(ptr @remaining, i64 %remain, ptr @waiting, ptr %helper.at)
  br label %join
unlock:
  store atomic i32 0, ptr @busy release, align 4
  ret void
}
