/* A lease of recycled.Saved, which is kept in a file and used without the store, for Spin. doc/internals/proof.md says what is checked and
 * for which sizes.
 *
 * One step is a read of the store, a write of the store, or a write of the file, with what follows from it. A write of the store
 * may arrive later, or never, and its reply may be lost. A host crashes between any two steps, and is started again. A write
 * of the file is made or not: it replaces the file. The host's clock shows anything at each start.
 *
 * There is one worker ID, which other hosts lease too, whenever they want: R5 is only a guess. The store may lose its last writes,
 * and has another history then (R7; F and M are 0). Times are small integers. Units are those that were granted: each one may be
 * granted once.
 *
 * The defines M_… are mutants: each one breaks the model.
 */
#ifndef T
#define T 2 /* the last time */
#endif
#ifndef H
#define H 2 /* the horizon */
#endif
#ifndef SPAN
#define SPAN 2 /* of Saved, at most H */
#endif
#ifdef M_SPAN_BEYOND_H
#undef SPAN
#define SPAN (H + 1)
#endif
#ifndef STARTS
#define STARTS 3 /* how many times the host is started */
#endif
#ifndef SWAPS
#define SWAPS 4 /* how many tokens it uses */
#endif
#ifndef OTHERS
#define OTHERS 1 /* how many leases other hosts take */
#endif
#ifndef LOSSES
#define LOSSES 0 /* how many times the store loses its last writes */
#endif
#ifndef LATE
#define LATE 1 /* how many writes may arrive later: 0 or 1 */
#endif

#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define OTHER (SWAPS + 1) /* the token of another host */

typedef Slot { byte tok, rev, from, until, hist }
Slot slot, backup;
byte history, poolHistory, floor, now;
byte others = OTHERS, losses = LOSSES;
bit saves = (LOSSES > 0);

/* The file: what the store has acknowledged, how much of it was granted, and the tokens, a bit for each. */
typedef File { byte from, until, mark; short tokens; bit exists }
File file;
#ifdef M_FILE_SET_BACK
File copy;
#endif

/* A write that has not arrived. */
typedef Message { byte kind, rev, tok, until, fresh, from, val, hist }
Message late;
#define CLAIM  1
#define EXTEND 2

/* Not in Go: which units were granted, and which tokens were written by extensions. */
int units;
short extensions;
byte i;

#define NOTED   (slot.hist == poolHistory && poolHistory == history)
#define HAS(t)  (file.tokens & (1 << (t)))

/* The units from a to b-1 are granted. */
inline grant(a, b) {
	i = a;
	do
	:: i < b -> assert(!(units & (1 << i))); units = units | (1 << i); i++ /* no unit twice */
	:: else -> i = 0; break
	od
}

inline giveBack(a, b) {
	i = a;
	do
	:: i < b -> units = units & ~(1 << i); i++
	:: else -> i = 0; break
	od
}

/* R7. Go: workerassign/recycled (*Assigner).notePool */
#define NOTE poolHistory = history; floor = MAX(floor, now + H)

active proctype World() {
	byte end;
	do
	:: now < T -> now++

	/* Another host takes the slot, extends it, and releases it. */
	:: d_step { others > 0 && poolHistory == history ->
			others--;
			slot.tok = OTHER;
			slot.from = MAX(slot.until, floor);
			slot.until = slot.from;
			slot.rev++;
			slot.hist = poolHistory;
			end = slot.from
		}
	:: d_step { slot.tok == OTHER && NOTED && slot.until < now + H ->
			grant(end, now + H);
			slot.until = now + H;
			slot.rev++;
			end = slot.until
		}
	:: d_step { slot.tok == OTHER && slot.from < slot.until -> /* it has used one unit */
			giveBack(slot.from + 1, slot.until);
			slot.until = slot.from + 1;
			slot.tok = 0;
			slot.rev++
		}

#if LATE
	:: d_step { late.kind != 0 ->
			if
			:: late.hist == history && slot.rev == late.rev && slot.tok == late.tok && slot.until == late.until ->
				slot.rev++;
				slot.tok = late.fresh;
				slot.from = late.from;
				slot.until = late.val;
				if :: late.kind == CLAIM -> slot.hist = poolHistory :: else fi
			:: else
			fi;
			late.kind = 0; late.rev = 0; late.tok = 0; late.until = 0; late.fresh = 0; late.from = 0; late.val = 0; late.hist = 0
		}
#endif

#if LOSSES > 0
	:: d_step { saves -> saves = 0; backup.tok = slot.tok; backup.rev = slot.rev; backup.from = slot.from; backup.until = slot.until; backup.hist = slot.hist }
	:: d_step { losses > 0 && !saves ->
			losses--;
			slot.tok = backup.tok; slot.rev = backup.rev; slot.from = backup.from; slot.until = backup.until; slot.hist = backup.hist;
			history++
		}
	:: d_step { poolHistory != history -> NOTE }
#endif
#ifdef M_FILE_SET_BACK
	:: d_step { file.exists && !copy.exists -> copy.exists = 1; copy.from = file.from; copy.until = file.until; copy.mark = file.mark; copy.tokens = file.tokens }
#endif
	od
}

/* The results of a call of the store. */
#define OK     1
#define TAKEN  2 /* lostSlotError */
#define LOST   3 /* ErrLeaseLost, because of the history */
#define FAILED 4
#define AGAIN  5 /* the swap was refused */

#define CRASH if :: true :: goto crashed fi

/* A swap of the slot; out is OK, AGAIN, or FAILED. */
inline swap(aKind) {
	atomic {
		if
		:: true -> /* it arrives now */
			d_step {
				if
				:: hist == history && slot.rev == rev && slot.tok == tok && slot.until == until ->
					slot.rev++;
					slot.tok = fresh;
					slot.from = from;
					slot.until = val;
					if :: aKind == CLAIM -> slot.hist = poolHistory :: else fi;
					out = OK
				:: else -> out = AGAIN
				fi
			};
			if
			:: true
			:: out = FAILED /* the reply is lost */
			fi
		:: out = FAILED /* it never arrives */
#if LATE
		:: d_step { late.kind == 0 ->
				late.kind = aKind; late.rev = rev; late.tok = tok; late.until = until; late.fresh = fresh; late.from = from; late.val = val; late.hist = hist;
				out = FAILED
			}
#endif
		fi;
		d_step { rev = 0; tok = 0; until = 0; hist = 0 }
	}
}

#define READ rev = slot.rev; tok = slot.tok; until = slot.until; hist = history

/* Go: workerassign/recycled (*savedLease).extend, (*slotLease).swap, (*slotLease).check, (*slotLease).lost, (*savedLease).write,
 * withToken, and savedRecord.acknowledged */
inline extend() {
	tries = 0;
	do
	:: atomic {
			if
			:: out = FAILED /* the store cannot be reached */
			:: !NOTED ->
				if :: poolHistory != history -> d_step { NOTE } :: else fi;
#ifdef M_HISTORY_NOT_COMPARED
				d_step { READ; val = MAX(slot.until, now + SPAN); from = slot.from; out = OK }
#else
				out = LOST
#endif
			:: NOTED ->
#ifndef M_FILE_SET_BACK
				/* A token of this host that the slot has is in the file: a crash does not cost the lease. */
				assert(!(slot.from == file.from && slot.tok > 0 && extensions & (1 << slot.tok)) || HAS(slot.tok));
#endif
				if
#ifdef M_TOKEN_NOT_COMPARED
				:: slot.tok != 0 ->
#else
				:: slot.from == file.from && slot.tok != 0 && HAS(slot.tok) ->
#endif
					d_step { READ; val = MAX(slot.until, now + SPAN); from = slot.from; out = OK } /* R1, R6 */
				:: else -> out = TAKEN
				fi
			fi;
			if
			:: out == OK && used == SWAPS -> d_step { out = FAILED; rev = 0; tok = 0; until = 0; hist = 0 }
			:: else
			fi
		};
		if
		:: out != OK -> break
		:: out == OK ->
			d_step {
				used++;
				fresh = used;
				extensions = extensions | (1 << fresh);
#if defined(M_TOKENS_FORGOTTEN)
				file.tokens = (1 << fresh)
#elif !defined(M_TOKEN_NOT_IN_FILE)
				file.tokens = file.tokens | (1 << fresh)
#endif
#ifdef M_UNTIL_BEFORE_REPLY
				; file.until = val
#endif
			};
			CRASH;
			swap(EXTEND);
			CRASH;
			if
			:: d_step { out == OK -> file.until = val; file.mark = MAX(file.mark, file.from); file.tokens = 1 << fresh } -> CRASH; break
			:: out == FAILED && tries == 0 -> tries = 1
			:: out == FAILED && tries > 0 -> break
			:: out == AGAIN
			fi
		fi
	od;
	if :: d_step { true -> fresh = 0; val = 0; tries = 0; from = 0 } fi
}

/* Go: workerassign/recycled (*savedLease).take */
inline take() {
	do
	:: atomic {
			if
			:: out = FAILED
			:: poolHistory == history && used < SWAPS -> d_step { READ; from = MAX(slot.until, floor); val = from; out = OK } /* R3 */
			fi
		};
		if
		:: out == FAILED -> break
		:: out == OK ->
			d_step { /* the claim is in the file before it is in the store */
				used++;
				fresh = used;
				file.exists = 1;
				file.from = from;
				file.until = from;
				file.mark = from;
				file.tokens = 1 << fresh
			};
			CRASH;
			swap(CLAIM);
			if
			:: out == FAILED -> /* R4 */
				if
				:: slot.tok == fresh -> out = OK
				:: slot.tok != fresh
				:: true
				fi
			:: else
			fi;
			if
			:: out == OK -> break
			:: out == FAILED -> break
			:: out == AGAIN
			fi
		fi
	od;
	if :: d_step { true -> fresh = 0; val = 0; from = 0 } fi
}

/* The present by the host's clock: anything. */
inline chooseBegin() {
	begin = 0;
	do
	:: begin < T + H + 1 -> begin++
	:: break
	od;
#ifndef M_BEGINS_AT_CLOCK
	begin = MAX(file.mark, begin)
#endif
}

active proctype Host() {
	byte starts, used, begin, end, next, out, rev, tok, until, from, val, fresh, hist, tries;
	do
	:: starts == STARTS -> break
	:: starts < STARTS ->
		starts++;
		/* Go: workerassign/recycled (*saved).Assign, (*savedLease).start, and (*savedLease).resume */
		out = TAKEN;
		if
		:: file.exists ->
			atomic { chooseBegin() };
			extend();
			if
			:: out == OK && (begin < file.until || begin == file.from) /* or it waits for the floor, as when it was taken */
			:: out == OK && begin >= file.until && begin != file.from -> out = AGAIN
			:: out == TAKEN
#ifdef M_ENDED_LEASE_IS_USED
			:: out == FAILED || out == LOST -> out = OK
#else
			:: (out == FAILED || out == LOST) && begin < file.until -> out = OK /* the lease in the file is used */
			:: out == LOST && begin >= file.until -> out = TAKEN
			:: out == FAILED && begin >= file.until
#endif
			fi
		:: else
		fi;
		if
		:: out == TAKEN ->
			take();
			if
			:: out == OK -> atomic { chooseBegin() }; extend()
			:: else
			fi
		:: else
		fi;
		if
		:: out != OK -> goto crashed /* Assign returns an error */
		:: else
		fi;
		end = begin;
		do
		/* Go: workerassign/recycled (*savedLease).Reserve */
		:: if
			:: true -> extend() /* it is due */
			:: out = OK
			fi;
			if
			:: out == TAKEN -> break
			:: else
			fi;
			atomic {
				next = MAX(file.mark, begin);
				if
				:: next++
				:: next = MAX(next, file.until)
				fi;
#ifdef M_ENDED_LEASE_IS_USED
				next = MIN(next, T + H + 1)
#else
				next = MIN(next, file.until)
#endif
			}
			if
			:: next > file.mark && next > end ->
#ifdef M_GRANTED_BEFORE_FILE
				d_step { grant(end, next); end = next };
				CRASH;
				file.mark = next
#else
				file.mark = next;
				CRASH;
				d_step { grant(end, next); end = next }
#endif
			:: else
			fi;
			next = 0
		/* Go: workerassign/recycled (*savedLease).Release, and (*savedLease).end */
		:: atomic {
				next = begin;
				do
				:: next < end -> next++
				:: break
				od;
				d_step {
					giveBack(next, end);
#ifdef M_MARK_BELOW_USED
					if :: next > begin -> next-- :: else fi;
#endif
					file.mark = MIN(file.mark, MAX(begin, next))
				}
			};
			break
		:: goto crashed
		od;
crashed:
		if :: d_step { true -> begin = 0; end = 0; next = 0; out = 0; rev = 0; tok = 0; until = 0; from = 0; val = 0; fresh = 0; hist = 0; tries = 0 } fi;
#ifdef M_FILE_SET_BACK
		if
		:: d_step { copy.exists -> file.from = copy.from; file.until = copy.until; file.mark = copy.mark; file.tokens = copy.tokens }
		:: true
		fi
#endif
	od
}
