/* Signals and the turn of package ringbuffer, for ring.pml.
 *
 * A signal's channel is an object in Go: a waiter keeps the channel that it has subscribed to, whatever happens to the
 * signal. Here each process has, for each signal, the state of the channel that it keeps: none, the one that the signal
 * has at present, or one that was closed. Whether the signal has a channel is a bit of its own, because a channel stays after
 * its waiters have left.
 *
 * Three functions are one step here although each has several accesses in Go, because only one of these accesses matters:
 * - subscribe: a load of nil has no effect; either the load of a channel or the compare-and-swap that succeeds decides.
 * - broadcast: the load has no effect if the swap follows. A waiter that wakes after the close may also be slow to wake
 *   after the swap, so every order of the two is still there.
 * - tryAcquire: as subscribe.
 */
#define AVAIL 0 /* Ring.runAvailable */
#define REL   1 /* Ring.turn.released */

#define NONE     0
#define PRESENT  1
#define CLOSEDCH 2

bit hasChan[2];
byte kept[2*NPROC];

#define KEPT(g)  kept[(g)*NPROC+me]
#define WOKEN(g) (KEPT(g) == CLOSEDCH)

/* Go: ringbuffer (*signal).subscribe */
#define subscribe(g) hasChan[g] = 1; KEPT(g) = PRESENT

/* unsubscribe: the waiter does not use the channel any more. It is a local variable in Go. */
#define unsubscribe(g) KEPT(g) = NONE

/* Go: ringbuffer (*signal).broadcast */
inline broadcast(g) {
	d_step {
		hasChan[g] = 0;
		i = 0;
		do
		:: i < NPROC -> if :: kept[(g)*NPROC+i] == PRESENT -> kept[(g)*NPROC+i] = CLOSEDCH :: else fi; i++
		:: else -> break
		od;
		i = 0
	}
}

/* tryAcquire; ok is the result.
 * Go: ringbuffer (*contextLock).tryAcquire */
#define tryAcquire() ok = !held; held = 1

/* acquire waits for the turn; ended is the condition under which its context has ended. ok is the result.
 * Go: ringbuffer (*contextLock).acquire */
inline acquire(ended) {
	do
	:: d_step { tryAcquire() };
		if
		:: ok -> break
		:: else
		fi;
#ifndef M_LOCK_SUBSCRIBES_LAST
		d_step { subscribe(REL) };
		d_step { tryAcquire(); if :: ok -> unsubscribe(REL) :: else -> where[me] = WAITS_FOR_TURN fi };
		if
		:: ok -> break
		:: else
		fi;
#else
		d_step { subscribe(REL); where[me] = WAITS_FOR_TURN };
#endif
		if /* select */
		:: d_step { WOKEN(REL) -> unsubscribe(REL); where[me] = RUNS_ON }
		:: d_step { (ended) -> unsubscribe(REL); where[me] = RUNS_ON; ok = 0 } -> break
		fi
	od
}

/* Go: ringbuffer (*contextLock).release */
inline release() {
	held = 0;
#ifndef M_RELEASE_SILENT
	broadcast(REL)
#endif
}
