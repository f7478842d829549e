/* The ring of package ringbuffer, for Spin. doc/internals/proof.md says what is checked and for which sizes.
 *
 * One step is one access to a variable that goroutines share: a load, a store, an add or a compare-and-swap of
 * sync/atomic, an operation on a channel, or a select. What a goroutine does between two of them is part of the first one.
 * "Go:" names the function that follows, so that a test notices when it has changed.
 *
 * Runs are objects, as in Go: runs[n] is the n-th run that was put, for ever, and a process that keeps a pointer to it
 * finds it unchanged. runs[0] is the run of length 0 that a new ring has. Close adds the last one.
 *
 * Left out: the statistics, the log, Stats, the values of errors, panics and Goexit of user code, and the timeout of Close.
 *
 * A configuration is a set of defines. The defines M_… are mutants: each one breaks the model.
 */
#ifndef CAP
#define CAP 2 /* Config.Capacity: 1 or 2 */
#endif
#ifndef RUNS
#define RUNS 3 /* how many runs the provider returns before it is exhausted; 0: there is no provider */
#endif
#ifndef PUTS
#define PUTS 0 /* how many runs each putter puts */
#endif
#ifndef PUTTERS
#define PUTTERS 0 /* a ring has putters or a provider, never both */
#endif
#ifndef TAKERS
#define TAKERS 2
#endif
#ifndef TAKES
#define TAKES 2 /* how many takes each taker makes; 0: for ever */
#endif
#ifndef ODD
#define ODD 1 /* the length of the runs with an odd number, 1 to 3 */
#endif
#ifndef EVEN
#define EVEN 2 /* and of those with an even one */
#endif
#ifndef CLAIM
#define CLAIM 1 /* what the first taker takes: 1 by Ring.Take, more by Ring.Claim; the other takers take one */
#endif
#ifndef POLICY
#define POLICY PADS /* FAILS, WAITS or PADS */
#endif
#ifndef ASSIST
#define ASSIST 0 /* Config.Assist */
#endif
#ifndef FAILURES
#define FAILURES 0 /* how many times the provider may fail */
#endif
#ifndef NOTYETS
#define NOTYETS 0 /* how many times the provider may have no run yet */
#endif
#ifndef TICKS
#define TICKS 0 /* how many scheduled paddings there are */
#endif
#ifndef CLOSER
#define CLOSER 0 /* 1: a process calls Close */
#endif
#ifndef DROPPER
#define DROPPER 0 /* 1: a process calls Drop */
#endif
#ifndef CONTEXTS
#define CONTEXTS 0 /* 1: the contexts of takers may end at any time; 2: except that of the first one */
#endif
#ifndef PUTCONTEXTS
#define PUTCONTEXTS 0 /* 1: those of putters */
#endif
#ifndef EARLYEND
#define EARLYEND 0 /* 1: the provider may be exhausted before it has returned RUNS runs */
#endif

#if CONTEXTS == 2
#define CONTEXT (me != 0)
#else
#define CONTEXT CONTEXTS
#endif

#define FAILS 0
#define WAITS 1
#define PADS  2

#define PADDER (RUNS > 0)
#if RUNS > 0
#define NPROC (TAKERS + PUTTERS + CLOSER + DROPPER + 1)
#else
#define NPROC (TAKERS + PUTTERS + CLOSER + DROPPER)
#endif
#define MASK (CAP - 1)
#define LOW (CAP / 2) /* Config.lowWatermark for the default padding factor and a capacity of 1 or 2 */

/* Indexes are counters that wrap: 64 bits in Go, IDX here. The first runs are put just before. */
#ifndef IDX
#define IDX 16
#endif
#define START (IDX - 2)
#define WRAP(n) ((n) & (IDX - 1))
#define POSITIVE(n) (WRAP(n) > 0 && WRAP(n) < IDX / 2) /* int64(n) > 0 */

/* The counter of a run: W stands for 2^64, USEDUP for usedUpCounter, which is half of it. What N processes may add at once, a
 * claim each, is less than the other half: 3 * N here, and N * maxClaim in Go. */
#ifndef W
#define W 32
#endif
#define USEDUP (W / 4)

#define NIL 0 /* in a slot: runs[0] is never in one */
#define CLOSEDRUN (RUNS + PUTTERS * PUTS + 1)

typedef Run {
	byte index;
	byte length;
	byte taken;
	byte handedOut; /* not in Go: a bit for each integer that was handed out or dropped */
#ifdef M_RUN_IS_REFILLED
	byte number; /* not in Go: which run it is now */
#endif
	bit date /* what Stale looks at: 0 is older than 1 */
}
Run runs[CLOSEDRUN + 1];
byte current;
byte slot[CAP];
byte tail = START;
bit wakeRequest;
/* What no process of the configuration can change is a constant, so that looking at it is no step. */
#if CLOSER
bit closed, cancelled;
#else
#define closed 0
#define cancelled 0
#endif
#if RUNS > 0
bit exhausted;
#else
#define exhausted 0
#endif
#if ASSIST
bit padderPaused;
#else
#define padderPaused 0
#endif
bit held; /* Ring.turn */

/* What follows is not in Go. */
byte puts;  /* how many runs were put */
byte given; /* how many runs the provider has returned */
byte failures = FAILURES, notYets = NOTYETS;
byte last;  /* the position of the last integer that was handed out or dropped */
bit closeReturned;
#if DROPPER
byte dropped; /* once Drop has returned: how many runs the provider had returned before; without putters, these are the first ones */
#endif
bit padderDone;
byte i; /* of d_steps only */

#define RUNS_ON        0
#define WAITS_FOR_RUN  1
#define WAITS_FOR_TURN 2
#define IDLE           3
#define DONE           4
byte where[NPROC];

#ifdef M_RUN_IS_REFILLED
#define POSITION(r) (4 * runs[r].number)
#else
#define POSITION(r) (4 * (r))
#endif
#define USED(r) (runs[r].taken >= runs[r].length)
#define NEXT(r) slot[WRAP(runs[r].index + 1) & MASK]
#define FOLLOWS(n, r) ((n) != NIL && runs[n].index == WRAP(runs[r].index + 1))
#define EMPTY (USED(current) && !FOLLOWS(NEXT(current), current))

#include "signal.pml"

/* handOut: the integers from start to start+n-1 of the run r were claimed. Invariant 3, and the order: whatever is claimed lies
 * behind all that was claimed before, in the whole ring. */
inline handOut(r, start, n) {
	i = 0;
	do
	:: i < n ->
		assert(!(runs[r].handedOut & (1 << (start + i)))); /* twice */
		runs[r].handedOut = runs[r].handedOut | (1 << (start + i));
		i++
	:: else -> break
	od;
	i = 0;
	assert(POSITION(r) + start > last); /* order */
	last = POSITION(r) + start + n - 1;
#if DROPPER
	assert(r > old); /* a take that began after Drop had returned */
#endif
	assert(!late) /* a take that began after Close had returned */
}

/* begin is the beginning of a take. */
#if DROPPER
#define begin() late = closeReturned; old = dropped
#else
#define begin() late = closeReturned
#endif

/* Go: ringbuffer (*runState).usedUp */
inline usedUp(r) {
#ifdef COUNTER
	if
	:: d_step { runs[r].taken <= USEDUP -> used = USED(r) } /* s.taken.Load() */
	:: d_step { runs[r].taken > USEDUP -> used = 1 };
#ifndef M_NO_SET_BACK
		runs[r].taken = USEDUP /* s.taken.Store(usedUpCounter) */
#endif
	fi
#else
	used = USED(r) /* s.taken.Load() */
#endif
}

/* add is s.taken.Add(n), and what follows from the result: got integers from start. */
inline add(r, n) {
#ifdef M_ADD_IN_TWO_STEPS
	start = runs[r].taken;
#endif
	d_step {
#ifndef M_ADD_IN_TWO_STEPS
		start = runs[r].taken;
#endif
		assert(start + n < W); /* the counter comes round */
		runs[r].taken = (start + n) % W;
#ifndef COUNTER
		/* By how much a counter is beyond the end makes no difference as long as it does not come round, which is checked
		 * with COUNTER. */
		if
		:: runs[r].taken > runs[r].length -> runs[r].taken = runs[r].length
		:: else
		fi;
#endif
		got = 0;
		if
		:: start < runs[r].length ->
			got = n;
			if
			:: start + n > runs[r].length -> got = runs[r].length - start
			:: else
			fi;
#ifdef M_FROM_THE_END
			start = runs[r].length - start - got;
#endif
			handOut(r, start, got)
		:: else
		fi;
		start = 0
	}
}

/* Go: ringbuffer (*runState).claim */
inline claim(r, n) {
#ifdef M_NO_FIRST_LOOK
	used = 0;
#else
	usedUp(r);
#endif
	if
	:: !used -> add(r, n)
	:: d_step { used -> got = 0; used = 0 }
	fi
}

/* advance; adv is the result, and wasEmpty reports whether the ring was empty when the slot was loaded.
 * Go: ringbuffer (*Ring).advance */
inline advance() {
	if
	:: d_step { closed -> adv = 0 } /* r.closed.Load() */
	:: !closed ->
		d_step { next = NEXT(s); wasEmpty = EMPTY }; /* r.slots[(s.index+1)&r.indexMask].Load() */
		if
#ifdef M_INDEX_IS_NOT_COMPARED
		:: next == NIL ->
#else
		:: !FOLLOWS(next, s) ->
#endif
#ifdef M_EMPTY_UNLESS_NEXT
			d_step { adv = 0; s = 0; next = 0 }
#else
			d_step { adv = (current != s); s = 0; next = 0 } /* r.current.Load() != s */
#endif
		:: else ->
			if
#ifdef M_CURRENT_IS_STORED
			:: current = next ->
#else
			:: d_step { current == s -> current = next } /* r.current.CompareAndSwap(s, next) */
#endif
				if
				:: d_step { WRAP(tail - runs[next].index + 1) <= LOW -> low = 1 } /* r.tail.Load() */
				:: d_step { WRAP(tail - runs[next].index + 1) > LOW -> low = 0 }
				fi;
				if
				:: d_step { low -> low = 0 } -> onLowWatermark()
				:: else
				fi
#ifndef M_CURRENT_IS_STORED
			:: current != s /* another taker's swap succeeded */
#endif
			fi;
			d_step { adv = 1; s = 0; next = 0 }
		fi
	fi
}

/* hasRun; ok is the result.
 * Go: ringbuffer (*Ring).hasRun */
inline hasRun() {
	h = current;
	usedUp(h);
	if
	:: d_step { !used -> ok = 1; h = 0 }
	:: used ->
#ifdef M_TAIL_IS_COMPARED
		d_step { ok = (tail != runs[h].index); used = 0; h = 0 }
#else
		d_step { next = NEXT(h); ok = FOLLOWS(next, h); wasEmpty = EMPTY }; /* r.slots[(s.index+1)&r.indexMask].Load() */
		if
		:: d_step { !ok -> ok = (current != h); next = 0; used = 0; h = 0 } /* r.current.Load() != s */
		:: d_step { ok -> next = 0; used = 0; h = 0 }
		fi
#endif
	fi
}

/* Go: ringbuffer (*Ring).wakePadder */
#define wakePadder() wakeRequest = 1

/* The results of padOne. */
#define PUTRUN    0
#define NOROOM    1
#define NOTYET    2
#define EXHAUSTED 3
#define FAILED    4
#define STOPPED   5

/* hasRoom; ok is the result.
 * Go: ringbuffer (*Ring).hasRoom */
inline hasRoom() {
	h = current; /* r.current.Load() */
	rt = tail; /* r.tail.Load() */
	usedUp(h);
#ifdef M_CURRENT_IS_NOT_COUNTED
	used = 1;
#endif
	d_step { ok = POSITIVE(CAP - (rt - runs[h].index) - 1 + used); h = 0; rt = 0; used = 0 } /* the difference may be -1 */
}

/* checkPadding; it sets out.
 * Go: ringbuffer (*Ring).checkPadding */
inline checkPadding() {
	ok = exhausted; /* r.exhaustedError.Load() */
	if
	:: d_step { closed -> out = STOPPED; ok = 0 } /* r.closed.Load() */
	:: !closed ->
		if
		:: d_step { ok -> out = EXHAUSTED; ok = 0 }
#if RUNS == 0
		:: d_step { !ok -> out = NOROOM }
#else
		:: !ok ->
			hasRoom();
			d_step { out = (ok -> PUTRUN : NOROOM); ok = 0 }
#endif
		fi
	fi
}

/* publish, in a turn.
 * Go: ringbuffer (*Ring).publish */
inline publish() {
#ifdef M_BROADCAST_FIRST
	broadcast(AVAIL);
#endif
#ifdef M_TAIL_FIRST
	tail = WRAP(tail + 1);
#endif
	d_step { /* r.slots[index&r.indexMask].Store(&runState{…}) */
		puts++;
#ifdef M_TAIL_FIRST
		rt = tail;
#else
		rt = WRAP(tail + 1); /* r.tail.Load(): it is written only in a turn */
#endif
		h = slot[rt & MASK];
		/* A run that takers have not left is overwritten. */
		assert(h == NIL || closed || h == current && USED(h) || POSITIVE(runs[current].index - runs[h].index));
#ifdef M_RUN_IS_REFILLED
		if
		:: puts > CAP -> h = puts - CAP /* the object that was put CAP runs ago */
		:: else -> h = puts
		fi;
		runs[h].number = puts;
		runs[h].handedOut = 0;
		runs[h].taken = 0;
#else
		h = puts;
#endif
		runs[h].index = rt;
		runs[h].length = (puts % 2 -> ODD : EVEN);
		slot[rt & MASK] = h;
		h = 0;
		rt = 0
	}
#ifndef M_TAIL_FIRST
	tail = WRAP(tail + 1); /* r.tail.Store(index) */
#endif
#ifndef M_BROADCAST_FIRST
	broadcast(AVAIL)
#endif
}

/* callProvider, with the provider's NextRun. It sets out.
 * Go: ringbuffer (*Ring).callProvider */
inline callProvider() {
	if
	:: d_step { given < RUNS -> given++; out = PUTRUN }
	:: d_step { failures > 0 -> failures--; out = FAILED }
	:: d_step { notYets > 0 -> notYets--; out = NOTYET }
	:: d_step { given == RUNS || EARLYEND -> out = EXHAUSTED }
	fi
}

/* Go: ringbuffer (*Ring).recordFailure */
inline recordFailure() {
	if
	:: out == EXHAUSTED ->
#if RUNS > 0
		exhausted = 1; /* r.exhaustedError.Store(&p.err) */
#endif
#ifndef M_EXHAUSTED_SILENTLY
		broadcast(AVAIL)
#endif
	:: out == FAILED ->
		if
		:: cancelled /* r.ctx.Err() */
		:: !cancelled ->
#ifndef M_FAILED_SILENTLY
			broadcast(AVAIL)
#endif
		fi
	:: else
	fi
}

/* padOne, in a turn. It sets out.
 * Go: ringbuffer (*Ring).padOne */
inline padOne() {
#ifdef M_ROOM_BEFORE_TURN
	out = (exhausted -> EXHAUSTED : PUTRUN);
#else
	checkPadding();
#endif
	if
	:: out == PUTRUN ->
		callProvider();
		if
		:: out == PUTRUN -> publish()
		:: else -> recordFailure()
		fi
	:: else
	fi
}

/* Go: ringbuffer (*Ring).onLowWatermark */
inline onLowWatermark() {
#ifdef M_LOW_IS_IGNORED
	skip
#else
	if
	:: padderPaused -> pads = 1 /* r.padderPaused.Load() */
	:: !padderPaused ->
		wakePadder();
#if ASSIST
		d_step { pads = !POSITIVE(tail - runs[next].index) } /* r.tail.Load() */
#endif
	fi;
#if ASSIST
	if
	:: !pads || held /* r.turn.held.Load() */
	:: d_step { pads && !held -> pads = 0 } ->
		checkPadding();
		if
		:: out == PUTRUN ->
			d_step { tryAcquire() };
			if
			:: d_step { ok -> ok = 0 } ->
				padOne();
				release()
			:: else
			fi
		:: else
		fi
	fi;
#endif
	d_step { pads = 0; out = 0; ok = 0 }
#endif
}

/* The results of a take. */
#define AGAIN       0 /* none yet */
#define GOT         1
#define ISEMPTY     2
#define ISCLOSED    3
#define ISEXHAUSTED 4
#define ISFAILED    5
#define ENDED       6 /* the context of the taker has ended */
#define TAKES_AGAIN 7 /* within pad: there is a run */

/* awaitRun; ok reports whether a signal of runAvailable came.
 * Go: ringbuffer (*Ring).awaitRun */
inline awaitRun() {
#ifdef M_WAITER_DOES_NOT_WAKE_PADDER
	d_step { where[me] = WAITS_FOR_RUN };
#else
	d_step { wakePadder(); where[me] = WAITS_FOR_RUN };
#endif
	if
	:: d_step { WOKEN(AVAIL) -> unsubscribe(AVAIL); where[me] = RUNS_ON; ok = 1 }
	:: d_step { CONTEXT -> unsubscribe(AVAIL); where[me] = RUNS_ON; ok = 0; result = ENDED }
	:: d_step { cancelled -> unsubscribe(AVAIL); where[me] = RUNS_ON; ok = 0; result = ISCLOSED }
	fi
}

/* wait is the method Wait. result stays AGAIN if there is a run.
 * Go: ringbuffer (*Ring).Wait */
inline wait() {
	do
#ifdef M_SUBSCRIBE_LAST
	:: hasRun();
		if
		:: ok -> break
		:: else
		fi;
		d_step { subscribe(AVAIL) };
		if
		:: d_step { closed -> unsubscribe(AVAIL); result = ISCLOSED } -> break
		:: !closed
		fi;
#else
	:: d_step { subscribe(AVAIL) };
		if
		:: d_step { closed -> unsubscribe(AVAIL); result = ISCLOSED } -> break /* r.closed.Load() */
		:: !closed
		fi;
		hasRun();
		if
		:: d_step { ok -> unsubscribe(AVAIL); ok = 0 } -> break
		:: else
		fi;
#endif
		if
		:: d_step { exhausted -> unsubscribe(AVAIL); result = ISEXHAUSTED } -> break /* r.exhaustedError.Load() */
		:: !exhausted
		fi;
		awaitRun();
		if
		:: !ok -> break
		:: d_step { ok -> ok = 0 }
		fi
	od
}

/* pad is the method Pad, with padInTurn. result stays AGAIN if there is a run. The first try is made without a
 * subscription.
 * Go: ringbuffer (*Ring).Pad, and (*Ring).padInTurn */
inline pad() {
	if
	:: d_step { closed -> result = ISCLOSED } /* r.closed.Load() */
	:: !closed ->
		first = 1;
		do
		:: if
			:: first
			:: !first ->
				d_step { subscribe(AVAIL) };
				d_step { subscribe(REL) };
				if
				:: d_step { closed -> unsubscribe(AVAIL); unsubscribe(REL); result = ISCLOSED } -> break
				:: !closed
				fi;
				hasRun();
				if
				:: d_step { ok -> unsubscribe(AVAIL); unsubscribe(REL); ok = 0 } -> break
				:: else
				fi
			fi;
			d_step { tryAcquire() };
			if
			:: d_step { ok -> ok = 0 } -> /* padInTurn */
				hasRun();
				if
				:: d_step { ok -> result = TAKES_AGAIN; ok = 0 } /* another goroutine has put a run before */
				:: else ->
					padOne();
					if
					:: d_step { out == PUTRUN -> result = TAKES_AGAIN }
					:: out != PUTRUN ->
						if
						:: d_step { closed -> result = ISCLOSED } /* r.closed.Load() */
						:: d_step { !closed && (out == NOROOM || out == NOTYET) -> result = AGAIN }
						:: d_step { !closed && out == FAILED -> result = ISFAILED }
						:: d_step { !closed && out == EXHAUSTED -> result = ISEXHAUSTED }
						fi
					fi;
					out = 0
				fi;
				release();
				if
				:: d_step { result != AGAIN -> unsubscribe(AVAIL); unsubscribe(REL) } -> break
				:: d_step { result == AGAIN && !first -> unsubscribe(REL) } /* released = nil */
#ifndef M_PAD_DOES_NOT_WAKE_PADDER
					-> wakePadder()
#endif
				:: result == AGAIN && first
				fi
			:: else
			fi;
			if
			:: d_step { first -> first = 0 }
			:: d_step { !first -> where[me] = WAITS_FOR_RUN };
				if
				:: d_step { WOKEN(REL) -> unsubscribe(AVAIL); unsubscribe(REL); where[me] = RUNS_ON }
				:: d_step { WOKEN(AVAIL) -> unsubscribe(AVAIL); unsubscribe(REL); where[me] = RUNS_ON }
				:: d_step { CONTEXT -> unsubscribe(AVAIL); unsubscribe(REL); where[me] = RUNS_ON; result = ENDED } -> break
				:: d_step { cancelled -> unsubscribe(AVAIL); unsubscribe(REL); where[me] = RUNS_ON; result = ISCLOSED } -> break
				fi
			fi
		od;
		if
		:: d_step { result == TAKES_AGAIN -> result = AGAIN; first = 0 }
		:: d_step { result != TAKES_AGAIN -> first = 0 }
		fi
	fi
}

/* handleEmpty, with the take policy. result stays AGAIN if the take must try again.
 * Go: ringbuffer (*Ring).handleEmpty, and builtinTakePolicy.OnEmpty */
inline handleEmpty() {
	if
	:: d_step { closed -> result = ISCLOSED } /* r.closed.Load() */
	:: !closed ->
		if
		:: exhausted -> /* r.exhaustedError.Load() */
#ifndef M_EXHAUSTED_COMES_FIRST
			hasRun();
#else
			d_step { ok = 0; wasEmpty = EMPTY };
#endif
			if
			:: d_step { ok -> ok = 0 }
			:: d_step { !ok -> result = ISEXHAUSTED; assert(wasEmpty || closed) }
			fi
		:: !exhausted ->
			assert(wasEmpty || closed); /* the take policy is called only if the ring was empty at an instant of this take */
			wasEmpty = 0;
#ifndef M_TAKER_DOES_NOT_WAKE_PADDER
			wakePadder();
#endif
#if POLICY == FAILS
			result = ISEMPTY;
#elif POLICY == WAITS
			wait();
#else
			pad();
#endif
			if
			:: result == AGAIN
			:: result != AGAIN ->
				if
				:: closed /* r.closed.Load() */
				:: !closed ->
					if
					:: d_step { exhausted -> result = AGAIN } /* r.exhaustedError.Load() */
					:: !exhausted
					fi
				fi
			fi
		fi
	fi
}

/* A taker. wants is 1 for Take and more for Claim.
 * Go: ringbuffer (*Ring).TryTake, (*Ring).Take, (*Ring).Claim, (*Ring).ClaimAfter and (*Ring).TryClaim */
proctype Taker(byte me; byte wants) {
	byte s, next, h, rt, start, got, used, out, result, n;
	bit ok, adv, low, pads, first, wasEmpty, late;
#if DROPPER
	byte old;
#endif
	do
	:: TAKES > 0 && n == TAKES -> break
	:: TAKES == 0 || n < TAKES ->
		got = 0;
		if
		:: wants == 1 -> /* TryTake */
			d_step { begin(); s = current }; /* r.current.Load() */
			add(s, 1)
		:: else -> d_step { begin() }
		fi;
		do
		:: got > 0 -> break
		:: got == 0 ->
			s = current; /* r.current.Load() */
			claim(s, wants);
			if
			:: got > 0 -> break
			:: else
			fi;
			advance();
			if
			:: d_step { adv -> adv = 0; wasEmpty = 0 }
			:: !adv ->
				handleEmpty();
				if
				:: result != AGAIN -> break
				:: else
				fi
			fi
		od;
		if
		:: d_step { TAKES > 0 && n < TAKES - 1 -> n++; s = 0; ok = 0; got = 0; result = 0; late = 0; wasEmpty = 0 }
		:: d_step { TAKES > 0 && n == TAKES - 1 -> n++; where[me] = DONE; s = 0; ok = 0; got = 0; result = 0; late = 0; wasEmpty = 0 }
		:: d_step { TAKES == 0 -> s = 0; ok = 0; got = 0; result = 0; late = 0; wasEmpty = 0 }
		fi
	od
}

/* Go: ringbuffer (*Ring).Put */
proctype Putter(byte me) {
	byte h, rt, used, n;
	bit ok;
	do
	:: n == PUTS -> break
	:: n < PUTS ->
		if
		:: closed /* r.closed.Load() */
		:: !closed ->
#ifdef M_PUT_WITHOUT_TURN
			ok = 1;
#else
			acquire(PUTCONTEXTS);
#endif
			if
			:: !ok
			:: d_step { ok -> ok = 0 } ->
				hasRoom();
				if
				:: d_step { ok -> ok = 0 } -> publish()
				:: else /* ErrFull */
				fi;
				release()
			fi
		fi;
		n++
	od;
	where[me] = DONE
}

/* Go: ringbuffer (*counters).drop */
inline drop() {
	do
	:: rt = runs[s].taken; /* s.taken.Load() */
		if
		:: rt >= runs[s].length -> break
#ifdef M_DROP_IN_TWO_STEPS
		:: d_step { rt < runs[s].length -> used = runs[s].length - rt; handOut(s, rt, used); runs[s].taken = runs[s].length } -> break
#else
		:: d_step { rt < runs[s].length && runs[s].taken == rt -> /* s.taken.CompareAndSwap(t, s.length) */
				used = runs[s].length - rt;
				handOut(s, rt, used);
				runs[s].taken = runs[s].length
			} -> break
		:: rt < runs[s].length && runs[s].taken != rt
#endif
		fi
	od;
	rt = 0;
	used = 0
}

/* dropStale, with lastStale. A run is stale if its date is 0. The dates are chosen when the run is
 * dropped or not, which allows every order of dates.
 * Go: ringbuffer (*Ring).dropStale, and (*Ring).lastStale */
inline dropStale() {
	d_step { h = current; stale = runs[h].index; h = 0 }; /* r.current.Load().index */
	do
	:: s = current; /* r.current.Load() */
		usedUp(s);
		if
		:: !used ->
			if
			:: d_step { !POSITIVE(stale - runs[s].index) -> stale = runs[s].index; n = stale } -> /* cfg.Stale and lastStale */
				if
				:: d_step { n = 0 } -> break /* it is not stale, and has no stale one behind it */
				:: n = 0 /* it is stale */
				:: do /* lastStale: each run behind it that is there may be the last stale one */
					:: d_step { h = slot[WRAP(n + 1) & MASK]; n = (h != NIL && runs[h].index == WRAP(n + 1) -> WRAP(n + 1) : IDX) };
						if
						:: n == IDX -> break
						:: d_step { n != IDX -> stale = n } -> break
						:: n != IDX
						fi
					od;
					if
					:: d_step { stale == runs[s].index -> h = 0; n = 0 } -> break
					:: d_step { stale != runs[s].index -> h = 0; n = 0 }
					fi
				fi
			:: POSITIVE(stale - runs[s].index)
			fi;
			drop()
		:: else
		fi;
		advance();
		if
		:: adv
		:: else -> break
		fi
	od;
	if
	:: d_step { true -> stale = 0; adv = 0; wasEmpty = 0; s = 0 }
	fi
}

/* Go: ringbuffer (*Ring).runPadder, (*Ring).fill, and (*Ring).fillOne */
proctype Padder(byte me) {
	byte s, next, h, rt, used, out, stale, n, tailAtPause;
	byte ticks = TICKS;
#if DROPPER
	byte old;
#endif
	bit ok, adv, low, pads, wasEmpty, late, delay, onDemand;
	do
	:: if /* select */
		:: cancelled -> break
		:: d_step { delay == 0 && wakeRequest -> wakeRequest = 0; onDemand = 1; where[me] = RUNS_ON }
#if TICKS > 0
		:: d_step { ticks > 0 -> ticks--; onDemand = 0; where[me] = RUNS_ON } -> dropStale()
#endif
		:: d_step { delay || padderPaused -> where[me] = RUNS_ON } /* the timer */
#if ASSIST
			-> onDemand = (tail != tailAtPause)
#endif
		fi;
#if ASSIST
		padderPaused = 0;
#endif
		do /* fill */
		:: checkPadding(); /* fillOne */
			if
			:: out == PUTRUN ->
				acquire(cancelled);
				if
				:: d_step { ok -> ok = 0 } ->
					padOne();
					release()
				:: d_step { !ok -> out = STOPPED }
				fi
			:: else
			fi;
			if
			:: out == PUTRUN
			:: d_step { out == NOTYET || out == FAILED -> delay = 1; out = 0; ok = 0; where[me] = IDLE } -> break
			:: d_step { out == NOROOM || out == EXHAUSTED || out == STOPPED -> delay = 0; out = 0; ok = 0; where[me] = IDLE } -> break
			fi
		od;
#if ASSIST
		if
		:: d_step { delay == 0 && onDemand -> tailAtPause = tail } -> padderPaused = 1
		:: else
		fi;
#endif
		onDemand = 0
	od;
	atomic { padderDone = 1; where[me] = DONE }
}

#if CLOSER
/* Go: ringbuffer (*Ring).end */
inline end() {
	do
	:: s = current; /* r.current.Load() */
		if
		:: s == CLOSEDRUN -> break /* s.lastBeforeClose != nil */
		:: d_step { s != CLOSEDRUN && current == s -> runs[CLOSEDRUN].index = runs[s].index; current = CLOSEDRUN } -> break /* CompareAndSwap */
		:: s != CLOSEDRUN && current != s
		fi
	od
}
#endif

#if DROPPER
/* What the function before changes is how many runs the provider has returned.
 * Go: ringbuffer (*Ring).Drop */
proctype Dropper(byte me) {
	byte s, next, h, rt, used, out, before;
	byte old;
	bit ok, adv, low, pads, wasEmpty, late;
#ifndef M_DROP_WITHOUT_TURN
	acquire(cancelled);
#else
	ok = 1;
#endif
	if
	:: !ok
	:: d_step { ok -> ok = closed } -> /* r.closed.Load() */
		before = given; /* if the ring is closed, no take gets a run at all */
		if
		:: ok
		:: else ->
			do
			:: s = current; /* r.current.Load() */
				drop();
				advance();
				if
#ifdef M_DROP_CURRENT_ONLY
				:: adv -> break
#else
				:: adv
#endif
				:: else -> break
				fi
			od
		fi;
#if CLOSER && !defined(M_DROP_LEAVES_CURRENT)
		if
		:: closed -> end() /* r.closed.Load() */
		:: !closed
		fi;
#endif
		if
		:: d_step { true -> s = 0; ok = 0; adv = 0; wasEmpty = 0 }
		fi;
#ifndef M_DROP_WITHOUT_TURN
		release()
#endif
	fi;
	if
	:: d_step { true -> dropped = before; before = 0; where[me] = DONE }
	fi
}
#endif

#if CLOSER
/* Go: ringbuffer (*Ring).Close */
proctype Closer(byte me) {
	byte s;
	bit ok;
#ifndef M_CLOSED_COMES_LAST
	closed = 1; /* r.closed.CompareAndSwap(false, true) */
#endif
#ifndef M_CURRENT_STAYS
	end();
#endif
#ifdef M_CLOSED_COMES_LAST
	closed = 1;
#endif
#ifndef M_NO_CANCEL
	cancelled = 1; /* r.cancel() */
#endif
	broadcast(AVAIL);
	acquire(0);
	release();
	if
	:: padderDone || RUNS == 0
	fi;
	closeReturned = 1;
	where[me] = DONE
}
#endif

init {
	byte n;
	atomic {
		runs[0].index = START;
		do
		:: n < TAKERS -> if :: n == 0 -> run Taker(n, CLAIM) :: else -> run Taker(n, 1) fi; n++
		:: n >= TAKERS && n < TAKERS + PUTTERS -> run Putter(n); n++
		:: else -> break
		od;
#if CLOSER
		run Closer(n);
		n++;
#endif
#if DROPPER
		run Dropper(n);
		n++;
#endif
#if RUNS > 0
		run Padder(n);
		where[n] = IDLE;
#endif
		n = 0
	}
#ifndef CYCLES
	/* No process can continue. Nobody may wait but takers of a ring that is empty and that nobody fills any more, and a padder that
	 * nobody has to wake. */
	timeout;
	d_step {
		do
		:: n < NPROC ->
			assert(where[n] == DONE ||
				where[n] == IDLE && !closed && (exhausted || RUNS == 0 || LOW == 0 || WRAP(tail - runs[current].index) + 1 > LOW) ||
				where[n] == WAITS_FOR_RUN && RUNS == 0 && !closed && EMPTY);
			n++
		:: else -> break
		od;
		n = 0
	}
#endif
}
#ifdef LIVE
/* Liveness, with weak fairness: a taker that waits although there is a run, or a provider that has one or ends, does not wait for
 * ever, whatever the other processes do. The first taker stands for each. */
never {
	do
	:: where[0] == WAITS_FOR_RUN && (!EMPTY || RUNS > 0) -> break
	:: true
	od;
accept:
	do
	:: where[0] == WAITS_FOR_RUN
	od
}
#endif
