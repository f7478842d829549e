/* How hosts of recycled.Assigner get slots: rules R5 and R8 of doc/internals/design.md, section 8, names, fixed worker IDs, slots that
 * are added, and RaiseFloor, for Spin. doc/internals/proof.md says what is checked and for which sizes. leases.pml has what is not here:
 * failovers, and writes that arrive late.
 *
 * One step is a read of the store with what the host decides from it, a write of the store, or an event: time, a step of the
 * store's clock, a crash. There is one store, which loses nothing. A reply may be lost. Reserve and Release are one step each:
 * their swap succeeds only if nothing has changed since their read.
 *
 * Times are small integers. The store's clock shows the true time, or M more: it may be set. The clock of each host differs
 * from the true time by a constant. A holder that is alive extends its lease within C after the grant has become as short as 1.125
 * times what it reserves ahead: time does not pass if that would be too late. Unless SLOW is set, a try takes no time.
 *
 * The defines M_… are mutants: each one breaks the model.
 */
#ifndef HOSTS
#define HOSTS 2
#endif
#ifndef SLOTS
#define SLOTS 2 /* how many worker IDs the layout has: 1 to 3 */
#endif
#ifndef SMALL
#define SMALL SLOTS /* how many the first host may use: its Prefix leaves fewer bits */
#endif
#ifndef START
#define START 1 /* how many slots the pool has at the start; they are free */
#endif
#ifndef BATCH
#define BATCH 1 /* how many slots are added in one write */
#endif
#ifndef LIVES
#define LIVES 2 /* how many times each host is started */
#endif
#ifndef T
#define T 3 /* how much time passes */
#endif
#ifndef B
#define B 1 /* the clock bound */
#endif
#ifndef M
#define M 0 /* the skew: by how much the store's clock is set */
#endif
#ifndef STEPS
#define STEPS 0 /* how many times */
#endif
#ifndef C
#define C 0 /* how long a holder takes for an extension */
#endif
#ifndef AHEAD0
#define AHEAD0 2 /* what the first host reserves ahead */
#endif
#ifndef AHEAD1
#define AHEAD1 2 /* and the others */
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef ERRORS
#define ERRORS 0 /* how many replies are lost */
#endif
#ifndef FLOORS
#define FLOORS 0 /* how many times an operator raises the floor, to FLOOR more than the store's clock */
#endif
#ifndef FLOOR
#define FLOOR 2
#endif
#ifndef HIDES
#define HIDES 0 /* 1: a read leaves out any free slots, unless it asks for all */
#endif
#ifndef SLOW
#define SLOW 0 /* 1: time passes within a try */
#endif
#ifndef NAME0
#define NAME0 0 /* the name of the first host; 0: none */
#endif
#ifndef NAME1
#define NAME1 0 /* and of the others */
#endif
#ifndef FIXED
#define FIXED 9 /* the worker ID that all hosts want (WithWorkerID); 9: any */
#endif
#ifndef BEHIND
#define BEHIND 0 /* by how much the clocks of hosts may be behind the true time */
#endif
#ifndef BEFORE
#define BEFORE 0 /* and ahead of it */
#endif

#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define NONE 9
#define ZERO 4 /* the time at the start, so that none is below 0 */
#define NAME(h)   ((h) == 0 -> NAME0 : NAME1)
#define AHEAD(h)  ((h) == 0 -> AHEAD0 : AHEAD1)
#define LAYOUT(h) ((h) == 0 -> SMALL : SLOTS)
#define TOKEN     (me + 1 + HOSTS * life) /* of a host's start: its tries of one start come one after the other */

typedef Slot {
	byte rev, tok, from, until, written, name, since;
	/* not in Go: the end of what leases may have stamped; the name of the last lease; whether that was released, and whether it
	 * was not used beyond the floor */
	byte top, had;
	bit released, early
}
Slot sl[SLOTS];
byte count = START, poolRev, floor; /* the pool */
byte now = ZERO, step, steps = STEPS, crashes = CRASHES, errors = ERRORS, floors = FLOORS;
byte off[HOSTS];                /* the host's clock shows now + off - ZERO */
byte stale = (1 << HOSTS) - 1;  /* a bit for each host: the store or the time has changed since its last read */
byte token[HOSTS], held[HOSTS]; /* the lease of a host that is alive, and its slot; token 0: none */
byte old;                       /* the leases, a bit for each host, that were there when the floor was raised */
bit raised;                     /* RaiseFloor has returned */
byte i, j;                      /* of d_steps only */

#define CLOCK   (now + step)
#define HOST(h) (now + off[h] - ZERO)
#define CHANGED stale = (1 << HOSTS) - 1

#define TRIES 0
#define WAITS 1
#define HOLDS 2
#define DONE  3
byte where[HOSTS];

/* Go: workerassign/recycled (*config).grace */
#if defined(M_GRACE_WITHOUT_B)
#define GRACE M
#elif defined(M_GRACE_WITHOUT_M)
#define GRACE B
#else
#define GRACE (B + M)
#endif

/* Go: workerassign/recycled (*config).freeAt */
#ifdef M_WRITTEN_IGNORED
#define FREEAT(until, written) (until + GRACE)
#else
#define FREEAT(until, written) (MAX(until, written) + GRACE)
#endif

/* A claimant of the holder's name does without grace. Times are compared in eighths.
 * Go: workerassign/recycled (*slotAssign).needsNoGrace, and (*config).nameNeedsNoGrace */
#ifdef M_OWN_RESERVE_COUNTS
#define SHOWN(h, w) AHEAD(h)
#else
#define SHOWN(h, w) (sl[w].until < sl[w].written -> 0 : MIN(AHEAD(h), (sl[w].until - sl[w].written) * 2 / 3))
#endif
#ifdef M_NAME_AT_ONCE
#define NOGRACE(h, w) (NAME(h) != 0 && sl[w].name == NAME(h) && sl[w].from < sl[w].until)
#else
#ifdef M_NOT_EXTENDED
#define NOGRACE(h, w) (NAME(h) != 0 && sl[w].name == NAME(h) && (sl[w].from == sl[w].until || 9 * SHOWN(h, w) > 8 * (B + M + C)))
#else
#define NOGRACE(h, w) (NAME(h) != 0 && sl[w].name == NAME(h) && sl[w].from < sl[w].until && 9 * SHOWN(h, w) > 8 * (B + M + C))
#endif
#endif

/* R5: whether a slot is free for the host h when the store's clock shows c, and the host's hc. The store was started longer than a
 * grace ago. Go: workerassign/recycled (*slotAssign).isFree */
#ifdef M_FLOOR_NOT_COMPARED
#define BEFOREFLOOR(w) 0
#else
#define BEFOREFLOOR(w) (sl[w].until <= floor)
#endif
#define FREERELEASED(w, c, hc) (BEFOREFLOOR(w) || sl[w].until <= c && (sl[w].rev == 1 || sl[w].until <= hc))
#ifdef M_HELD_FOR_EVER
#define FREEHELD(h, w, c, hc) 0
#else
#define FREEHELD(h, w, c, hc) (NOGRACE(h, w) -> sl[w].until < c && sl[w].until < hc : FREEAT(sl[w].until, sl[w].written) < c)
#endif
#define ISFREE(h, w, c, hc) (sl[w].tok == 0 -> FREERELEASED(w, c, hc) : FREEHELD(h, w, c, hc))

/* When a slot becomes free for the host h. Go: workerassign/recycled (*slotAssign).nextFree, and (*config).nextFree */
#ifdef M_NEXTFREE_WITH_GRACE
#define NEXTHELD(h, w) FREEAT(sl[w].until, sl[w].written)
#else
#define NEXTHELD(h, w) (NOGRACE(h, w) -> sl[w].until + 1 : FREEAT(sl[w].until, sl[w].written))
#endif
#define NEXTFREE(h, w) (sl[w].tok == 0 -> sl[w].until : NEXTHELD(h, w))

/* What somebody must be able to take, without the fields of the slot that decide it: a lease that was released, and whose end lies
 * behind both clocks, or behind the floor; or one whose grant and last write lie a grace behind. */
#define MUSTBEFREE(h, w) (sl[w].released -> sl[w].early || sl[w].top <= CLOCK && sl[w].top <= HOST(h) : MAX(sl[w].top, sl[w].written) + B + M < CLOCK)
#define MUSTBETAKEN(h, w) (w < count && w < LAYOUT(h) && (FIXED == NONE || FIXED == w) && MUSTBEFREE(h, w))
#if SLOTS == 1
#define ANYTAKEABLE(h) MUSTBETAKEN(h, 0)
#elif SLOTS == 2
#define ANYTAKEABLE(h) (MUSTBETAKEN(h, 0) || MUSTBETAKEN(h, 1))
#else
#define ANYTAKEABLE(h) (MUSTBETAKEN(h, 0) || MUSTBETAKEN(h, 1) || MUSTBETAKEN(h, 2))
#endif
#define CANBEADDED(h) (FIXED == NONE -> count < LAYOUT(h) : count <= FIXED)

/* A holder extends its lease to 1.5 times what it reserves ahead. */
#define GRANT(h)   (AHEAD(h) + (AHEAD(h) + 1) / 2)
#define UNTIL(h)   sl[held[h]].until
#define DUE(h)     (8 * UNTIL(h) <= 8 * HOST(h) + 9 * AHEAD(h) && HOST(h) + GRANT(h) > UNTIL(h))
#define OVERDUE(h) (token[h] != 0 && sl[held[h]].tok == token[h] && DUE(h) && 8 * (UNTIL(h) + C) <= 8 * HOST(h) + 9 * AHEAD(h))
#if HOSTS == 2
#define MAYPASS (SLOW || where[0] != TRIES && where[1] != TRIES && !OVERDUE(0) && !OVERDUE(1))
#else
#define MAYPASS (SLOW || where[0] != TRIES && where[1] != TRIES && where[2] != TRIES && !OVERDUE(0) && !OVERDUE(1) && !OVERDUE(2))
#endif

active proctype World() {
	byte n;
	do
	:: d_step { now < T + ZERO && MAYPASS -> now++; CHANGED }
#if STEPS > 0
	:: d_step { steps > 0 -> steps--; step = M - step; CHANGED }
#endif
#if FLOORS > 0
	/* An operator raises the floor. Go: workerassign/recycled (*Assigner).RaiseFloor, and (*Assigner).raiseSlot */
	:: floors > 0 ->
#ifdef M_POOL_NOT_COMPARED
		n = count;
#endif
		d_step { /* the pool */
#ifndef M_POOL_NOT_COMPARED
			n = count;
#endif
			floors--;
			raised = 0;
			old = 0;
			do
			:: i < HOSTS -> if :: token[i] != 0 -> old = old | (1 << i) :: else fi; i++
			:: else -> i = 0; break
			od;
			floor = MAX(floor, CLOCK + FLOOR);
			poolRev++;
			CHANGED
		};
#ifndef M_SLOT_NOT_WRITTEN
		do
		:: n == 0 -> break
		:: d_step { n > 0 && sl[n - 1].from >= floor && floor > CLOCK -> n--; CHANGED } /* its lease begins at the floor or later, and remains */
		:: d_step { n > 0 && !(sl[n - 1].from >= floor && floor > CLOCK) -> /* a slot */
				n--;
#ifndef M_TOKEN_KEPT
				sl[n].tok = 0;
#endif
				sl[n].rev++;
				sl[n].until = MAX(sl[n].until, floor);
				sl[n].written = CLOCK;
				sl[n].top = sl[n].until;
				sl[n].released = 1;
				sl[n].early = (sl[n].until <= floor);
				CHANGED
			}
		od;
#endif
		if :: d_step { true -> n = 0; raised = 1 } fi
#endif
	od
}

/* What the host sees of the store, and may take. Go: workerassign/recycled (*slotAssign).read */
#ifdef M_NAME_NOT_READ
#define SEEN(w) (w < count && (all || !(omitted & (1 << w)) || FIXED == w))
#else
#define SEEN(w) (w < count && (all || !(omitted & (1 << w)) || FIXED == w || NAME(me) != 0 && sl[w].name == NAME(me)))
#endif
#ifdef M_LAYOUT_IGNORED
#define FITS(w) (FIXED == NONE || FIXED == w)
#else
#define FITS(w) (w < LAYOUT(me) && (FIXED == NONE || FIXED == w))
#endif
#define MAYTAKE(w) (SEEN(w) && FITS(w) && ISFREE(me, w, CLOCK, HOST(me)))
#ifdef M_NAMES_NOT_LAST
#define UNNAMED(w) 0
#else
#define UNNAMED(w) (MAYTAKE(w) && sl[w].name == 0)
#endif
#if SLOTS == 1
#define ANYUNNAMED UNNAMED(0)
#elif SLOTS == 2
#define ANYUNNAMED (UNNAMED(0) || UNNAMED(1))
#else
#define ANYUNNAMED (UNNAMED(0) || UNNAMED(1) || UNNAMED(2))
#endif
#define CANDIDATE(w) (MAYTAKE(w) && (sl[w].name == 0 || FIXED == w || !ANYUNNAMED))

/* The slot of the name; else any without a name; else any. w is the result.
 * Go: workerassign/recycled (*slotAssign).choose */
inline choose() {
	w = NONE;
#ifndef M_NAME_IGNORED
	d_step {
		do
		:: i < SLOTS ->
			if
			:: NAME(me) != 0 && sl[i].name == NAME(me) && MAYTAKE(i) && (w == NONE || sl[i].since > sl[w].since) -> w = i
			:: else
			fi;
			i++
		:: else -> i = 0; break
		od
	};
#endif
	if
	:: w == NONE && CANDIDATE(0) -> w = 0
#if SLOTS > 1
	:: w == NONE && CANDIDATE(1) -> w = 1
#endif
#if SLOTS > 2
	:: w == NONE && CANDIDATE(2) -> w = 2
#endif
	:: else
	fi
}

/* What was chosen is right. */
inline checkChoice() {
	do
	:: i < SLOTS ->
		if
		:: i < count && i < LAYOUT(me) && FIXED == NONE && ISFREE(me, i, CLOCK, HOST(me)) ->
			assert(NAME(me) == 0 || sl[i].had != NAME(me) || w != NONE && sl[w].had == NAME(me)); /* the slot of the name */
			assert(w == NONE || sl[w].had == 0 || sl[w].had == NAME(me) || sl[i].had != 0 || (omitted & (1 << i)) && !all) /* a slot of another name comes last */
		:: else
		fi;
		i++
	:: else -> i = 0; break
	od
}

#define TAKE  1
#define ADD   2
#define FULL  3
#define AGAIN 4

/* NextFree of the error, which is the result nf, is not later than the time at which any slot becomes free.
 * Go: workerassign/recycled (*slotAssign).fullError */
inline checkFull() {
#ifdef M_NEXTFREE_OF_LAST
	nf = 0;
#else
	nf = 255;
#endif
	do
	:: i < count ->
		if
#ifdef M_NEXTFREE_OF_LAST
		:: FITS(i) && NEXTFREE(me, i) > nf -> nf = NEXTFREE(me, i)
#else
		:: FITS(i) && NEXTFREE(me, i) < nf -> nf = NEXTFREE(me, i)
#endif
		:: else
		fi;
		i++
	:: else -> i = 0; break
	od;
	do
	:: i < count ->
		j = CLOCK;
		do
		:: j < nf && j < T + ZERO + M -> assert(!FITS(i) || !ISFREE(me, i, j, HOST(me) + j - CLOCK)); j++
		:: else -> j = 0; break
		od;
		i++
	:: else -> i = 0; break
	od;
	assert(!ANYTAKEABLE(me) && !CANBEADDED(me)) /* the pool is full */
}

/* Go: workerassign/recycled (*slotAssign).try, (*slotAssign).takeFixed, (*slotAssign).claim, (*slotAssign).addition, and (*config).completed */
inline decide() {
#if HIDES
	if
	:: omitted = 0
	:: omitted = 1
	:: omitted = (1 << SLOTS) - 1
	fi;
#endif
	choose();
	d_step {
		checkChoice();
		stale = stale & ~(1 << me);
		c = CLOCK;
		prev = poolRev;
		if
		:: w != NONE ->
			act = TAKE;
			rev = sl[w].rev;
			from = MAX(sl[w].until, floor) /* R3 */
#ifdef M_NOTHING_IS_ADDED
		:: w == NONE && 0 ->
#else
#ifdef M_ADDS_BEYOND_LAYOUT
		:: w == NONE && (FIXED == NONE -> count < SLOTS : count <= FIXED) ->
#else
		:: w == NONE && CANBEADDED(me) ->
#endif
#endif
			act = ADD;
			w = count;
#ifdef M_BEGINS_BEFORE_FLOOR
			from = c
#else
			from = MAX(c, floor) /* R3 */
#endif
		:: else ->
			if
#ifdef M_NEVER_READS_ALL
			:: HIDES && !all -> act = FULL; polled = 0
#else
			:: HIDES && !all && tries > 0 && nf > c -> act = FULL; polled = 0; tries--
			:: HIDES && !all && (tries == 0 || nf <= c) -> act = AGAIN; all = 1
#endif
			:: !HIDES || all ->
				checkFull();
				act = FULL;
				polled = 1;
#if HIDES
				tries = reads;
				reads = 1;
#endif
				all = 0
			fi
		fi;
		omitted = 0
	}
}

inline claimSlot(w, from) {
	sl[w].rev++;
	sl[w].tok = TOKEN;
	sl[w].from = from;
	sl[w].until = from;
	sl[w].written = c;
	sl[w].name = NAME(me);
	sl[w].since = c;
	sl[w].top = from;
	sl[w].had = NAME(me);
	sl[w].released = 0;
	sl[w].early = 0;
	token[me] = TOKEN;
	held[me] = w;
	old = old & ~(1 << me)
}

#define OWNER(w) ((sl[w].tok - 1) % HOSTS)

/* ok is the result. Go: workerassign/recycled (*slotAssign).take, and (*slotAssign).add */
inline write() {
	ok = 0;
	if
#ifdef M_NOT_COMPARED
	:: act == TAKE ->
#else
	:: act == TAKE && sl[w].rev == rev ->
#endif
		assert(from >= sl[w].top);                                                    /* no unit of two leases */
		assert(SLOW || sl[w].tok == 0 || !(token[OWNER(w)] == sl[w].tok));            /* the holder is not alive */
		assert(!raised || from >= floor);
		assert(w < LAYOUT(me));
		assert(FIXED == NONE || FIXED == w);
		claimSlot(w, from);
		ok = 1
#ifdef M_ADD_NOT_COMPARED
	:: act == ADD ->
#else
	:: act == ADD && poolRev == prev ->
#endif
		assert(w < LAYOUT(me));
		assert(!raised || from >= floor);
		assert(from >= sl[w].top);
		poolRev++;
		count = MAX(count, (FIXED == NONE -> MIN(w + BATCH, LAYOUT(me)) : FIXED + 1));
		i = w;
		do
		:: i < count ->
			sl[i].rev = 1; sl[i].from = c; sl[i].until = c; sl[i].written = c; sl[i].top = c; sl[i].released = 1;
			i++
		:: else -> i = 0; break
		od;
		if
		:: FIXED == NONE -> sl[w].rev = 0; claimSlot(w, from); ok = 1
		:: else
		fi
	:: else
	fi;
	CHANGED
}

#define FORGET w = 0; rev = 0; prev = 0; from = 0; c = 0; act = 0; ok = 0; sent = 0

proctype Host(byte me) {
	byte w, rev, prev, from, c, act, sent, tries, reads, nf, omitted, life;
	bit all, polled, ok, refused;
	do
	:: life == LIVES -> break
	:: life < LIVES -> /* it starts at any time */
		where[me] = TRIES;
		do /* an Assign */
		:: /* R8: the store's answer is compared with the host's clock at the time of the request and of the answer.
		    * Go: workerassign/recycled (*Assigner).checkClock */
#if SLOW
			d_step { sent = HOST(me) };
#endif
			atomic {
				decide();
#if !SLOW
				sent = HOST(me);
#endif
#if SLOW
			};
			atomic {
#endif
				/* A clock that differs by at most B is never refused; one that differs by more than B, and the time that the read has
				 * taken, always is. */
				d_step {
#if defined(M_CLOCK_NOT_COMPARED)
					refused = 0;
#elif defined(M_SENT_ONLY)
					refused = c + B < sent || c > sent + B;
#elif defined(M_RECEIVED_ONLY)
					refused = c + B < HOST(me) || c > HOST(me) + B;
#else
					refused = c + B < sent || c > HOST(me) + B;
#endif
#if STEPS == 0
					assert(!refused || off[me] + B < ZERO || off[me] > ZERO + B);
					assert(refused || off[me] + B + (HOST(me) - sent) >= ZERO && off[me] <= ZERO + B + (HOST(me) - sent))
#endif
				}
				if
				:: refused -> life = LIVES - 1; goto crashed
				:: else
				fi;
				if
				:: act == FULL -> d_step { where[me] = WAITS; FORGET }
				:: else
				fi
			}
			if
			:: act == AGAIN
			:: where[me] == WAITS -> /* it tries again later; that is useless as long as nothing has changed, if it has read all */
				d_step { (stale & (1 << me)) || !polled -> where[me] = TRIES }
			:: act == TAKE || act == ADD ->
				atomic {
					if
					:: d_step { write() }; if :: true -> sent = 0 :: errors > 0 -> errors--; sent = 1 fi
					:: errors > 0 -> errors--; ok = 0; sent = 1 /* the request is lost */
#if CRASHES > 0
					:: crashes > 0 -> crashes--; d_step { write(); token[me] = 0 }; goto crashed
#endif
					fi
				}
				/* R4. Go: workerassign/recycled (*slotAssign).result */
				if
				:: d_step { sent -> ok = (w < count && sl[w].tok == TOKEN) }
				:: !sent
				fi;
				if
				:: ok -> break
				:: else -> d_step { FORGET }
				fi
			fi
		od;
		if :: d_step { true -> where[me] = HOLDS; nf = 0; tries = 0; reads = 0; all = 0; polled = 0; FORGET } fi;
		do
		/* Go: workerassign/recycled (*slotLease).Reserve, and (*slotLease).check */
		:: d_step { sl[held[me]].tok == token[me] && DUE(me) ->
				assert(!raised || !(old & (1 << me))); /* RaiseFloor has ended it */
				UNTIL(me) = MAX(UNTIL(me), HOST(me) + GRANT(me));
				sl[held[me]].rev++;
				sl[held[me]].written = CLOCK;
				sl[held[me]].top = UNTIL(me);
				CHANGED
			}
		:: sl[held[me]].tok != token[me] -> break /* it is lost */
		/* What was used ends anywhere. Go: workerassign/recycled (*slotLease).Release */
		:: atomic { sl[held[me]].tok == token[me] ->
				if
				:: c = sl[held[me]].from
				:: sl[held[me]].until > HOST(me) && sl[held[me]].from < HOST(me) -> c = HOST(me)
				:: sl[held[me]].until > sl[held[me]].from -> c = UNTIL(me)
				fi;
				d_step {
					w = held[me];
					sl[w].top = c;
					sl[w].released = 1;
					sl[w].early = (c <= floor);
					sl[w].rev++;
#ifndef M_RELEASE_KEEPS_TOKEN
					sl[w].tok = 0;
#endif
#ifndef M_RELEASE_KEEPS_UNTIL
					sl[w].until = c;
#endif
					sl[w].written = CLOCK;
#ifdef M_NAME_CLEARED
					sl[w].name = 0;
#endif
					CHANGED;
					FORGET
				}
			} -> break
#if CRASHES > 0
		:: d_step { crashes > 0 -> crashes-- } -> break
#endif
		od;
crashed:
		if :: d_step { true -> life++; token[me] = 0; held[me] = 0; where[me] = DONE; nf = 0; tries = 0; reads = 0; all = 0; polled = 0; refused = 0; FORGET } fi
	od
}

init {
	byte n;
	atomic {
		do
		:: n < START -> sl[n].rev = 1; sl[n].from = ZERO; sl[n].until = ZERO; sl[n].written = ZERO; sl[n].top = ZERO; sl[n].released = 1; n++
		:: else -> break
		od;
		n = 0;
		do
		:: n < HOSTS ->
			off[n] = ZERO - BEHIND;
			do
			:: off[n] < ZERO + BEFORE -> off[n]++
			:: break
			od;
			where[n] = DONE;
			run Host(n);
			n++
		:: else -> break
		od;
		n = 0
	}
#ifndef CYCLES
	/* No process can continue. A host waits only if no slot is free for it, and none can be added. */
	timeout;
	d_step {
		do
		:: n < HOSTS ->
			assert(where[n] != TRIES);
			assert(where[n] != WAITS || !ANYTAKEABLE(n) && !CANBEADDED(n));
			n++
		:: else -> break
		od;
		n = 0
	}
#endif
}
