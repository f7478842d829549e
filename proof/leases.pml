/* The leases of recycled.Assigner on a slot store, rules R1 to R7 of doc/internals/design.md, section 8, for Spin. doc/internals/proof.md says
 * what is checked and for which sizes.
 *
 * One step is a read of the store with what the host decides from it, a write of the store, or an event of the world: time, a
 * failover, a replication, a lost message. A write is a message, which arrives at any later time, at any server that still
 * acknowledges, or never. So a host may pause or crash between any two steps: it does nothing more. A reply may be lost.
 *
 * There is one worker ID. Times are small integers. A lease is one try of one host to take the slot, with a token of its own
 * (R4): lease l has the token l+1, and 0 is no token. What a lease may stamp are the units from nb to end-1.
 *
 * The host of lease 0 may be copied while it runs, once: then lease 1 is that of the copy. Each extension has a fresh token, which
 * makes a difference only after the copy: what both of them may have written has the token 1, the first one writes 4, and the copy
 * writes 2. Units that were granted, or asked for, before the copy may be stamped by both.
 *
 * The host's clock appears as a free choice: a host may take a free slot or not, and may ask for any unit (R5, R6).
 *
 * The defines M_… are mutants: each one breaks the model.
 */
#ifndef T
#define T 5 /* the last time */
#endif
#ifndef H
#define H 2 /* the horizon */
#endif
#ifndef F
#define F 1 /* how long a former primary acknowledges */
#endif
#ifndef M
#define M 1 /* the greatest skew of the servers' clocks */
#endif
#ifndef B
#define B 0 /* the clock bound */
#endif
#ifndef LEASES
#define LEASES 2
#endif
#ifndef FAILOVERS
#define FAILOVERS 1
#endif
#ifndef MESSAGES
#define MESSAGES 2
#endif
#ifndef WRITES
#define WRITES 4 /* the greatest revision of the slot */
#endif
#ifndef GUESSES
#define GUESSES 1 /* 1: a slot may be taken whatever its holder does (R5 and names are only guesses); 0: R5 is checked */
#endif
#ifndef FIXED
#define FIXED 0 /* 1: the slot exists from the start, and was released */
#endif
#ifndef RESTORE
#define RESTORE 0 /* 1: the failover is a backup that is restored, on a store whose history does not show it */
#endif
#ifndef COPIES
#define COPIES 0 /* 1: the host of lease 0 may be copied */
#endif
#ifndef RAISES
#define RAISES RESTORE /* how many times an operator calls RaiseFloor */
#endif

#ifdef M_GRACE_WITHOUT_M
#define GRACE B
#else
#define GRACE (M + B)
#endif
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define MIN(a, b) ((a) < (b) -> (a) : (b))

/* A server, with what it has stored. Its history is its number and cannot be lost. */
typedef Server {
	byte tok, rev, from, until, written, hist; /* the slot; hist is that of the pool when it was leased */
	byte poolHist, since, floor;               /* the pool */
	byte fencedAt;                             /* the last time at which a former primary acknowledges */
	bit synced                                 /* it can become the primary */
}
#define LEASEHIST(s) (srv[s].poolHist + 2 * srv[s].since) /* Pool.leaseHistory: the history, and since when */
Server srv[2];
byte skew[2];
byte primary, now, failovers;
#if RAISES
byte raises, raising; /* raising: 1: the pool must be written, before any host reaches the store; 2: the slot must be */
#else
#define raising 0
#endif
/* What a store shows as its history: a server, or nothing of a restored backup. */
#if RESTORE
#define HISTORY(s) 0
#define LOCKED raising
#else
#define HISTORY(s) s
#define LOCKED 0
#endif

#define ACKNOWLEDGES(s) (!LOCKED && ((s) == primary || srv[s].fencedAt >= now && srv[s].fencedAt > 0))
#define CLOCK(s) (now + skew[s])

typedef Lease {
	byte state, nb, end;
	byte base /* the end of what was granted, or asked for, before the copy */
}
#define UNUSED 0
#define ASKED  1 /* the write that takes the slot is on its way; its reply was not read */
#define HELD   2
#define OVER   3 /* released, or the host has given up the try */
Lease ls[LEASES];

/* The tokens of lease l, and that of its next write (R4). */
#if COPIES
bit copied;
#define OWN(l, t) ((t) == (l) + 1 || copied && ((l) == 0 && (t) == 4 || (l) == 1 && (t) == 1))
#ifdef M_TOKEN_KEPT_BY_EXTENSION
#define FRESH(l) (copied && (l) == 1 -> 1 : (l) + 1)
#else
#define FRESH(l) (copied && (l) == 0 -> 4 : (l) + 1)
#endif
#else
#define OWN(l, t) ((t) == (l) + 1)
#define FRESH(l) ((l) + 1)
#endif

/* A write: what the store must have, and what it writes. */
typedef Message {
	byte kind, l, hist, rev, tok, until; /* until: what the store must have */
	byte nb, val, lhist, written /* nb: of RESERVE the token that it writes */
}
#define TAKE    1
#define RESERVE 2
#define RELEASE 3
#define NOTE    4 /* the pool's history and floor: val is the floor, rev what the pool has as history, tok as since, until as floor */
Message ms[MESSAGES];

#if MESSAGES == 2
#define ROOM (ms[0].kind == 0 || ms[1].kind == 0)
#else
#define ROOM (ms[0].kind == 0 || ms[1].kind == 0 || ms[2].kind == 0)
#endif

byte x, y, b, l, m, s, v; /* of one step only */
bit hit;

/* Two leases have stamped, or may stamp, no unit both. */
#define BEGIN(a) MAX(ls[a].nb, ls[a].base)
#define OVERLAP(a, b) (ls[a].state >= HELD && ls[b].state >= HELD && MAX(BEGIN(a), BEGIN(b)) < MIN(ls[a].end, ls[b].end))
#if LEASES == 2
#define DISJOINT !OVERLAP(0, 1)
#else
#define DISJOINT (!OVERLAP(0, 1) && !OVERLAP(0, 2) && !OVERLAP(1, 2))
#endif

/* What an operator raises the floor to. */
#ifdef M_RAISED_WITHOUT_H
#define RAISEDTO now
#else
#define RAISEDTO (now + M + H)
#endif

#define RELEASED_IS_FREE(s) (srv[s].tok == 0 && (srv[s].until <= CLOCK(s) || srv[s].until <= srv[s].floor))
#ifdef M_NO_GRACE
#define HELD_IS_FREE(s) (srv[s].tok != 0 && srv[s].until < CLOCK(s))
#else
#define HELD_IS_FREE(s) (srv[s].tok != 0 && MAX(srv[s].until, srv[s].written) + GRACE < CLOCK(s) && srv[s].since + GRACE <= CLOCK(s))
#endif
/* R5. Go: workerassign/recycled (*slotAssign).isFree, and (*config).grace */
#if GUESSES
#define ISFREE(s) 1
#else
#define ISFREE(s) (RELEASED_IS_FREE(s) || HELD_IS_FREE(s))
#endif

/* R7: the pool's history is that of the server. */
#ifdef M_HISTORY_NOT_NOTED
#define NOTED(s) 1
#else
#define NOTED(s) (srv[s].poolHist == HISTORY(s))
#endif

/* The order of the messages makes no difference: the first one has the greater kind. */
#define SWAP(f) x = ms[0].f; ms[0].f = ms[1].f; ms[1].f = x
#if MESSAGES == 2
#define ARRANGE \
	y = x; \
	if \
	:: ms[0].kind < ms[1].kind -> SWAP(kind); SWAP(l); SWAP(hist); SWAP(rev); SWAP(tok); SWAP(until); SWAP(nb); SWAP(val); SWAP(lhist); SWAP(written) \
	:: else \
	fi; \
	x = y; y = 0
#else
#define ARRANGE skip
#endif

/* A message is sent if there is room for it, and none that is equal. */
inline send(aKind, aLease, aRev, aTok, anUntil, aNb, aVal, aHist) {
	y = 0;
	do
	:: y < MESSAGES && ms[y].kind != 0 -> y++
	:: else -> break
	od;
	ms[y].kind = aKind;
	ms[y].l = aLease;
	ms[y].hist = HISTORY(s);
	ms[y].rev = aRev;
	ms[y].tok = aTok;
	ms[y].until = anUntil;
	ms[y].nb = aNb;
	ms[y].val = aVal;
	ms[y].lhist = aHist;
	ms[y].written = (GUESSES && aKind != NOTE -> 0 : CLOCK(s));
	y = 0;
	ARRANGE
}

inline clear(k) {
	ms[k].kind = 0; ms[k].l = 0; ms[k].hist = 0; ms[k].rev = 0; ms[k].tok = 0; ms[k].until = 0;
	ms[k].nb = 0; ms[k].val = 0; ms[k].lhist = 0; ms[k].written = 0
}

/* A write that adds the slot writes the pool too, and so compares its floor. */
#ifdef M_ADDED_WITHOUT_POOL
#define COMPARED(s) srv[s].until
#else
#define COMPARED(s) (srv[s].rev == 0 -> srv[s].floor : srv[s].until)
#endif

/* The compare-and-swap of a store (R2). hit is the result.
 * Go: workerassign/recycled (*Assigner).swapSlot, Write.Replaces, and Write.ReplacesPool */
inline apply(k) {
	hit = 0;
	if
	:: ms[k].hist != HISTORY(s) /* the store has another history */
	:: ms[k].hist == HISTORY(s) && ms[k].kind == NOTE ->
		if
		:: srv[s].poolHist == ms[k].rev && srv[s].since == ms[k].tok && srv[s].floor == ms[k].until ->
			srv[s].poolHist = HISTORY(s);
			srv[s].since = ms[k].written;
			srv[s].floor = MAX(srv[s].floor, ms[k].val);
			hit = 1
		:: else
		fi
	:: ms[k].hist == HISTORY(s) && ms[k].kind != NOTE ->
		if
#ifdef M_NOT_COMPARED
		:: srv[s].rev < WRITES ->
#else
#ifdef M_REVISION_NOT_COMPARED
		:: srv[s].tok == ms[k].tok && srv[s].rev < WRITES ->
#else
		:: srv[s].rev == ms[k].rev && srv[s].tok == ms[k].tok && COMPARED(s) == ms[k].until ->
#endif
#endif
			srv[s].rev++;
			if
			:: ms[k].kind == TAKE ->
				srv[s].tok = ms[k].l + 1;
				srv[s].from = ms[k].nb;
				srv[s].until = ms[k].val;
				srv[s].hist = ms[k].lhist
			:: ms[k].kind == RESERVE ->
				srv[s].tok = ms[k].nb;
				srv[s].until = ms[k].val
			:: ms[k].kind == RELEASE ->
#ifndef M_RELEASE_KEEPS_TOKEN
				srv[s].tok = 0;
#endif
				srv[s].until = ms[k].val
			fi;
			srv[s].written = ms[k].written;
			hit = 1
		:: else
		fi
	fi
}

active proctype World() {
	atomic { /* the servers' clocks differ by at most M */
		srv[0].synced = 1;
		srv[1].synced = 1;
		srv[0].rev = FIXED;
#ifdef AHEAD /* the clock of this server is ahead of the other's */
		skew[AHEAD] = M;
#else
		if
		:: skew[0] = 0
		:: skew[0] = M
		fi;
		if
		:: skew[1] = 0
		:: skew[1] = M
		fi;
#endif
		srv[1].poolHist = srv[0].poolHist
	}
	do
	:: now < T -> now++ /* time passes */

	/* The replica gets what the primary has; a former primary only when it is fenced. */
	:: d_step { !ACKNOWLEDGES(1 - primary) && failovers < FAILOVERS ->
			x = 1 - primary;
			srv[x].tok = srv[primary].tok; srv[x].rev = srv[primary].rev; srv[x].from = srv[primary].from;
			srv[x].until = srv[primary].until; srv[x].written = srv[primary].written; srv[x].hist = srv[primary].hist;
			srv[x].poolHist = srv[primary].poolHist; srv[x].since = srv[primary].since; srv[x].floor = srv[primary].floor;
#ifndef M_RETURNS_BEHIND
			/* A former primary that comes back without a restart must have the record of the pool that its successor wrote. */
			srv[x].synced = (srv[x].fencedAt == 0 || srv[x].poolHist == primary);
#else
			srv[x].synced = 1;
#endif
			x = 0
		}
	:: d_step { failovers < FAILOVERS && srv[1 - primary].synced && !ACKNOWLEDGES(1 - primary) && now > srv[1 - primary].fencedAt ->
			failovers++;
#if RESTORE
			raising = 1;
#elif defined(M_FENCED_LATE)
			srv[primary].fencedAt = now + F + 2;
#else
			srv[primary].fencedAt = now + F;
#endif
			srv[primary].synced = 0;
			primary = 1 - primary;
			srv[primary].fencedAt = 0;
		}

#if COPIES
	/* The host of lease 0 is copied, with what it knows. */
	:: d_step { !copied && (ls[0].state == ASKED || ls[0].state == HELD) && ls[1].state == UNUSED ->
			copied = 1;
			ls[0].base = ls[0].end;
			x = 0;
			do
			:: x < MESSAGES -> if :: ms[x].kind == RESERVE && ms[x].l == 0 -> ls[0].base = MAX(ls[0].base, ms[x].val) :: else fi; x++
			:: else -> break
			od;
			x = 0;
			ls[1].state = ls[0].state; ls[1].nb = ls[0].nb; ls[1].end = ls[0].end; ls[1].base = ls[0].base
		}
#endif

#if RAISES
	/* An operator raises the floor, to the present + H + M: the pool first, then the slot. R7 applies to the pool too.
	 * Go: workerassign/recycled (*Assigner).RaiseFloor, and (*Assigner).raiseSlot */
	:: d_step { raising == (RESTORE -> 1 : 0) && raises < RAISES ->
			raises++;
			srv[primary].floor = MAX(srv[primary].floor, RAISEDTO);
			if
			:: !NOTED(primary) -> srv[primary].poolHist = HISTORY(primary); srv[primary].since = CLOCK(primary); srv[primary].floor = MAX(srv[primary].floor, CLOCK(primary) + F + H + M)
			:: else
			fi;
			raising = 2
		}
	:: d_step { raising == 2 && srv[primary].rev == 0 -> raising = 0 }
	/* A lease that begins at the floor or later, in the future, remains. */
	:: d_step { raising == 2 && srv[primary].tok > 0 && srv[primary].tok <= LEASES && srv[primary].floor > CLOCK(primary) &&
			ls[(srv[primary].tok > 0 && srv[primary].tok <= LEASES -> srv[primary].tok - 1 : 0)].nb >= srv[primary].floor ->
			raising = 0
		}
	:: d_step { raising == 2 && srv[primary].rev > 0 && srv[primary].rev < WRITES ->
#ifndef M_SLOT_NOT_WRITTEN
			srv[primary].rev++;
#ifndef M_TOKEN_KEPT
			srv[primary].tok = 0;
#endif
			srv[primary].until = MAX(srv[primary].until, srv[primary].floor);
			srv[primary].written = (GUESSES -> 0 : CLOCK(primary));
#endif
			raising = 0
		}
#endif

	/* A host reads a server that acknowledges, finds that the pool has another history, and writes the new one with a
	 * floor (R7). Go: workerassign/recycled (*slotAssign).preparePool, (*slotLease).noteHistory, (*Assigner).noteHistory, and (*Assigner).notePool */
	:: atomic {
			if
			:: s = 0
			:: s = 1
			fi;
			if
			:: ACKNOWLEDGES(s) && !NOTED(s) && ROOM
			fi;
			d_step {
				v = CLOCK(s);
#ifndef M_NO_FLOOR
				v = v + F + H + M;
#ifdef M_FLOOR_WITHOUT_F
				v = v - F;
#endif
#ifdef M_FLOOR_WITHOUT_H
				v = v - H;
#endif
#ifdef M_FLOOR_WITHOUT_M
				v = v - M;
#endif
#else
				v = 0;
#endif
				send(NOTE, 0, srv[s].poolHist, srv[s].since, srv[s].floor, 0, v, 0);
				v = 0;
				s = 0
			}
		}

	/* A host takes a slot that is free, with a token of its own. R3: the lease begins where the last grant ended, not before
	 * the floor, and on a new slot not before the store's clock. Go: workerassign/recycled (*slotAssign).take, (*slotAssign).claim,
	 * (*slotAssign).addition, and (*slotAssign).add */
	:: atomic {
			if
			:: s = 0
			:: s = 1
			fi;
			if
			:: ls[0].state == UNUSED -> l = 0
			:: ls[0].state != UNUSED && ls[1].state == UNUSED -> l = 1
#if LEASES == 3
			:: ls[0].state != UNUSED && ls[1].state != UNUSED && ls[2].state == UNUSED -> l = 2
#endif
			fi;
			if
			:: ACKNOWLEDGES(s) && NOTED(s) && ISFREE(s) && srv[s].rev < WRITES && ROOM
			fi;
			d_step {
				ls[l].state = ASKED;
#ifdef M_BEGINS_AT_CLOCK
				v = CLOCK(s);
#else
				v = srv[s].until;
				if
				:: srv[s].rev == 0 -> v = MAX(v, CLOCK(s))
				:: else
				fi;
#ifndef M_FLOOR_IGNORED
				v = MAX(v, srv[s].floor);
#endif
#endif
				b = COMPARED(s);
				send(TAKE, l, srv[s].rev, srv[s].tok, b, v, v, LEASEHIST(s));
				b = 0;
				v = 0;
				l = 0;
				s = 0
			}
		}

	/* A holder reads its slot and extends it. R1: until never falls. R6: to the horizon at most. R7: not if the pool has another
	 * history than the lease. R4: with a fresh token, and only if the slot has a token of the lease.
	 * Go: workerassign/recycled (*slotLease).Reserve, (*slotLease).swap, (*slotLease).check, (*slotLease).lost, withToken,
	 * (*slotLease).try, (*slotLease).refuse, (*slotLease).acknowledge, and Pool.leaseHistory */
	:: atomic {
			if
			:: s = 0
			:: s = 1
			fi;
			if
			:: l = 0
			:: l = 1
#if LEASES == 3
			:: l = 2
#endif
			fi;
			if
			:: ls[l].state == HELD && ACKNOWLEDGES(s) && srv[s].rev < WRITES && ROOM &&
#ifndef M_NOT_COMPARED
				OWN(l, srv[s].tok) &&
#endif
#ifndef M_HISTORY_NOT_COMPARED
				NOTED(s) && srv[s].hist == LEASEHIST(s) &&
#endif
				true
			fi;
			if
			:: v = CLOCK(s) + 1
			:: v = CLOCK(s) + H
#ifdef M_NO_HORIZON
			:: v = CLOCK(s) + H + 2
#endif
			fi;
#ifndef M_UNTIL_FALLS
			if
			:: v > srv[s].until
			:: else -> v = srv[s].until
			fi;
#endif
			d_step {
				send(RESERVE, l, srv[s].rev, srv[s].tok, srv[s].until, FRESH(l), v, 0);
				v = 0;
				l = 0;
				s = 0
			}
		}

	/* A holder releases its lease: it has used the units before v. Go: workerassign/recycled (*slotLease).Release */
	:: atomic {
			if
			:: s = 0
			:: s = 1
			fi;
			if
			:: l = 0
			:: l = 1
#if LEASES == 3
			:: l = 2
#endif
			fi;
			if
			:: ls[l].state == HELD && ACKNOWLEDGES(s) &&
#ifndef M_RELEASE_OF_ANOTHER
				OWN(l, srv[s].tok) && srv[s].from == ls[l].nb &&
#endif
				srv[s].rev < WRITES && ROOM
			fi;
			v = ls[l].nb;
			do
			:: v < ls[l].end -> v++
			:: break
			od;
			d_step {
				ls[l].state = OVER;
				ls[l].end = v;
#ifdef M_RELEASE_BELOW_USED
				if :: v > 0 -> v-- :: else fi;
#endif
#ifndef M_RELEASE_NOT_CLAMPED
				v = MIN(v, srv[s].until);
				v = MAX(v, srv[s].from);
#else
				if :: v == ls[l].nb -> v = 0 :: else fi;
#endif
#ifdef M_RELEASE_KEEPS_UNTIL
				v = srv[s].until;
#endif
				send(RELEASE, l, srv[s].rev, srv[s].tok, srv[s].until, 0, v, 0);
				v = 0;
				l = 0;
				s = 0
			}
		}

	/* A write arrives at a server that acknowledges, and its reply is read, or lost. R2: a lease relies only on what was
	 * acknowledged. */
	:: atomic {
			if
			:: s = 0
			:: s = 1
			fi;
			if
			:: m = 0
			:: m = 1
#if MESSAGES == 3
			:: m = 2
#endif
			fi;
			if
			:: ms[m].kind != 0 && ACKNOWLEDGES(s)
			fi;
			l = ms[m].l;
			x = ms[m].kind;
			d_step {
				/* R5: a slot whose grant has not ended, by the true time, is not taken from its holder. */
#if !GUESSES
				assert(!(x == TAKE && ms[m].tok != 0 && ms[m].hist == s && failovers == 0 && srv[s].tok == ms[m].tok && srv[s].rev == ms[m].rev) || srv[s].until < ms[m].written - skew[s]);
#endif
				apply(m);
#if !GUESSES
				/* A slot that was released can be taken from the end of what was used on. */
				assert(!(hit && x == RELEASE && failovers == 0) || srv[s].tok == 0 && srv[s].until == MAX(ls[l].end, srv[s].from));
#endif
				v = ms[m].val;
				b = ms[m].nb;
				clear(m);
				ARRANGE
			}
			if
			:: hit && x == TAKE && ls[l].state == ASKED ->
				ls[l].state = HELD;
				ls[l].nb = b;
				ls[l].end = b
			:: hit && x == RESERVE && ls[l].state == HELD ->
				ls[l].end = MAX(ls[l].end, v)
#ifdef M_FAILED_WRITE_COUNTS
			:: !hit && x == RESERVE && ls[l].state == HELD ->
				ls[l].end = MAX(ls[l].end, v)
#endif
			:: true /* the reply is lost, or it is a refusal */
			fi;
			d_step { hit = 0; x = 0; b = 0; v = 0; l = 0; m = 0; s = 0 }
			assert(DISJOINT)
		}

	/* R4: the host that has no reply to its try reads the slot again, and finds its token, or gives up the try.
	 * Go: workerassign/recycled (*slotAssign).result */
	:: atomic {
			if
			:: s = 0
			:: s = 1
			fi;
			if
			:: ls[0].state == ASKED -> l = 0
			:: ls[1].state == ASKED -> l = 1
#if LEASES == 3
			:: ls[2].state == ASKED -> l = 2
#endif
			fi;
			if
			:: ACKNOWLEDGES(s)
			fi;
			if
#ifdef M_TOKEN_NOT_COMPARED
			:: srv[s].tok != 0 ->
#else
			:: OWN(l, srv[s].tok) ->
#endif
				ls[l].state = HELD;
				ls[l].nb = srv[s].from;
#ifdef M_TOKEN_NOT_COMPARED
				ls[l].end = srv[s].until
#else
				ls[l].end = srv[s].from
#endif
			:: else -> ls[l].state = OVER
			fi;
			l = 0;
			s = 0;
			assert(DISJOINT)
		}

	/* A message is lost. */
	:: atomic {
			if
			:: ms[0].kind != 0 -> m = 0
			:: ms[1].kind != 0 -> m = 1
			fi;
			d_step { clear(m); m = 0; ARRANGE }
		}
	od
}
