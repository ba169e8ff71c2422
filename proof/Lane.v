(* SPDX-License-Identifier: MIT *)
(*
   Lane.v - the programs: threads that write lanes, their pool of chunks, and the collector.

   They are written step by step as the code is; docs/proof.md has the table from each
   step to its function and the letter of its ordering.  One step is one access to shared
   memory.  What the state does not determine is in the choice: which thread takes a step,
   which message a load returns, when a thread ends or dies, and what the collector does next.

   Any number of threads, lane l is written by thread l; one pool of any number of chunks; one
   collector.  A lane is a chain of chunks.  Lane and collector keep the whole chain here:
   the code has only its last chunk and, in the collector, those that are not given back.

   More behaviours than the code has: a thread may give up at any time to find a chunk (the
   code: a limit of chunks per lane, a pool that may not grow, a thousand tries); the
   collector looks, takes and gives back in any order and any number.
   An event has one or more records, in one chunk, which are published together.  Where the rest of
   a chunk is too short for the next event, its first record says so, and the others are
   left as they are.
   Not here: the pool of lanes (a lane is opened once), the growth of the memory (ctp-K), the
   time of events.
*)
Require Import Arith List Lia Bool Cantor.
Require Import Memory.
Import ListNotations.

(* ---- locations ------------------------------------------------------------- *)

Inductive place :=
| Top                          (* pool.free: a tag, and 1 + the number of a chunk *)
| Used                         (* pool.used *)
| Homeless                     (* events of threads without a lane *)
| Link (c : nat)               (* of chunk c *)
| Word (c i w : nat)           (* word w of record i of chunk c *)
| State (l : nat)              (* of lane l: 0 free, 1 open, 2 closed *)
| First (l : nat)              (* 1 + the number of its first chunk *)
| Head (l : nat)               (* records published *)
| Dropped (l : nat).           (* events lost because the lane was full *)

Definition place_eq_dec (a b : place) : {a = b} + {a <> b}.
Proof. decide equality; apply Nat.eq_dec. Defined.

Definition place_eqb (a b : place) : bool := if place_eq_dec a b then true else false.

Lemma place_eqb_spec : forall a b, reflect (a = b) (place_eqb a b).
Proof. intros; unfold place_eqb; destruct (place_eq_dec a b); constructor; assumption. Qed.

#[global] Instance lane_locations : Locations place :=
  { loc_eqb := place_eqb; loc_eqb_spec := place_eqb_spec }.

Notation view := (Memory.view place).
Notation memory := (Memory.memory place).
Notation thread := (Memory.thread place).

(* The top of the pool: ctp_pool_top(). *)
Definition top_of (tag number : nat) : nat := to_nat (tag, number).
Definition tag_of (top : nat) : nat := fst (of_nat top).
Definition number_of (top : nat) : nat := snd (of_nat top).

(* ---- records ----------------------------------------------------------------- *)

Definition record := list nat.
Definition words := 4.                                 (* of a record *)

(* What is published at once: the records of an event; a gap; or the rest of a chunk. *)
Definition item := list record.

Definition gap_record (nr : nat) : record := [2; nr; 0; 0].
Definition pad_record : record := [3; 0; 0; 0].

Definition is_pad (r : record) : bool := nth 0 r 0 =? 3.
Definition followers (r : record) : nat := nth 3 r 0.  (* lane_followers() *)

(* The orders of the accesses; the code's are all Ordered. *)
Record orders := Orders
  { o_publish : order;                                 (* ctp_lane_publish() *)
    o_look : order;                                    (* lane_look(): the head *)
    o_state : order;                                   (* ctp_lane_open(), ctp_thread_leave() *)
    o_state_look : order;                              (* lane_look(): the state *)
    o_give : order;                                    (* ctp_pool_give() *)
    o_pop : order;                                     (* ctp_pool_pop() *)
    o_whole : bool;                                    (* all records before the head *)
    o_pad : bool }.                                    (* ctp_lane_pad() *)

Definition ours : orders := Orders Ordered Ordered Ordered Ordered Ordered Ordered true true.

Section Programs.

Variable room : nat.                                   (* records of a chunk *)
Variable limit : nat.                                  (* chunks of the pool *)
Variable event : nat -> nat -> item.                   (* of thread l: event k *)

(* ---- a thread: lane_slow.h, pool.h ---------------------------------------------- *)

Inductive ppc :=
| PIdle                        (* between two records *)
| PPop                         (* ctp_pool_pop(): the top *)
| PPopLink (top : nat)         (* the link of the chunk that is on top *)
| PPopCas (top link : nat)
| PExtend                      (* ctp_pool_extend(): used *)
| PExtendCas (used : nat)
| PGot (c : nat)               (* ctp_chunk_take(): clear the link *)
| PFirst (c : nat)             (* ctp_lane_open(): its first chunk *)
| POpen (c : nat)              (* and its state *)
| PLinkTo (c : nat)            (* ctp_lane_advance() *)
| PPut (pad : bool) (i w : nat) (* ctp_record_put(): word w of record i, or of the padding *)
| PPublish (pad : bool)        (* ctp_lane_publish() *)
| PFull                        (* ctp_lane_count() *)
| PEnd.                        (* it has left *)

Record producer := Producer
  { pth : thread;
    pc : ppc;
    dead : bool;               (* takes no further step *)
    chain : list nat;          (* all its chunks, in order; it uses the last *)
    items : list item;         (* ghost: what it has published *)
    events : nat;              (* ghost: events so far, written or lost *)
    gap : nat;                 (* lost since the last record *)
    dropped : nat;             (* lost since the lane was opened *)
    homeless : nat }.          (* ghost: lost before that *)

Definition log (p : producer) : list record := concat (items p).

Definition producer0 : producer := Producer thread0 PIdle false [] [] 0 0 0 0.

Definition at_pc (p : producer) (th : thread) (c : ppc) : producer :=
  Producer th c (dead p) (chain p) (items p) (events p) (gap p) (dropped p) (homeless p).

Definition has_room (p : producer) : bool := length (log p) <? room * length (chain p).

(* The records that are written now: first of all, what is missing. *)
Definition now (l : nat) (p : producer) : item :=
  if gap p =? 0 then event l (events p) else [gap_record (gap p)].

Definition fits (l : nat) (p : producer) : bool :=
  length (log p) mod room + length (now l p) <=? room.

Definition writing (pad : bool) (l : nat) (p : producer) : item :=
  if pad then [pad_record] else now l p.

(* The chunk and the place in it where record i of them goes. *)
Definition at_record (p : producer) (i w : nat) : place :=
  Word (nth (length (log p) / room) (chain p) 0) (length (log p) mod room + i) w.

(* The rest of the chunk, as it is. *)
Definition rest_of (m : memory) (p : producer) : item :=
  map (fun i => map (fun w => newest m (at_record p i w)) (seq 0 words))
      (seq 0 (room - length (log p) mod room)).

Definition whole (pad : bool) (l : nat) (m : memory) (p : producer) : item :=
  if pad then rest_of m p else now l p.

Definition link_chunk (p : producer) (th : thread) (c : nat) : producer :=
  Producer th PIdle (dead p) (chain p ++ [c]) (items p) (events p) (gap p) (dropped p)
           (homeless p).

Definition published (p : producer) (pad : bool) (it : item) (th : thread) : producer :=
  Producer th PIdle (dead p) (chain p) (items p ++ [it])
           (if negb pad && (gap p =? 0) then S (events p) else events p)
           (if pad then gap p else 0) (dropped p) (homeless p).

Definition count_drop (p : producer) (th : thread) : producer :=
  Producer th PIdle (dead p) (chain p) (items p) (S (events p)) (S (gap p)) (S (dropped p))
           (homeless p).

Definition count_homeless (p : producer) (th : thread) : producer :=
  Producer th PIdle (dead p) (chain p) (items p) (S (events p)) (gap p) (dropped p)
           (S (homeless p)).

(* Continue a record, or a search for a chunk. @t: the message that a load returns. *)
Definition pstep (o : orders) (l t : nat) (m : memory) (p : producer)
  : option (memory * producer) :=
  let read ord a k :=
    match load ord a t m (pth p) with
    | None => None
    | Some (v, th) => Some (m, at_pc p th (k v))
    end in
  let write ord a v (k : thread -> producer) :=
    let (m', th) := store ord a v m (pth p) in Some (m', k th) in
  let swap ord a old new (k c : ppc) :=
    match cas ord a old new m (pth p) with
    | Some (m', th) => Some (m', at_pc p th k)
    | None => Some (m, at_pc p (pth p) c)
    end in
  match pc p with
  | PIdle =>
      Some (m, at_pc p (pth p)
        (if has_room p then
           if fits l p then PPut false 0 0 else if o_pad o then PPut true 0 0 else PPublish true
         else PPop))
  | PPop =>                                            (* (ctp-J) *)
      read (o_pop o) Top (fun v => if number_of v =? 0 then PExtend else PPopLink v)
  | PPopLink top => read Relaxed (Link (number_of top - 1)) (fun v => PPopCas top v)
  | PPopCas top link =>
      swap Relaxed Top top (top_of (S (tag_of top)) link) (PGot (number_of top - 1)) PPop
  | PExtend => read Relaxed Used (fun v => if v <? limit then PExtendCas v else PFull)
  | PExtendCas used => swap Relaxed Used used (S used) (PGot used) PExtend
  | PGot c =>
      write Relaxed (Link c) 0 (fun th =>
        at_pc p th match chain p with [] => PFirst c | _ => PLinkTo c end)
  | PFirst c => write Relaxed (First l) (S c) (fun th => at_pc p th (POpen c))
  | POpen c =>                                         (* (ctp-I) *)
      write (o_state o) (State l) 1 (fun th => link_chunk p th c)
  | PLinkTo c =>                                       (* the head that passes it: (ctp-H) *)
      write Relaxed (Link (last (chain p) 0)) (S c) (fun th => link_chunk p th c)
  | PPut pad i w =>
      let it := writing pad l p in
      write Relaxed (at_record p i w) (nth w (nth i it []) 0)
            (fun th => at_pc p th
              (if S w <? words then PPut pad i (S w)
               else if (S i <? length it) && o_whole o then PPut pad (S i) 0 else PPublish pad))
  | PPublish pad =>                                    (* (ctp-H) *)
      let it := whole pad l m p in
      write (o_publish o) (Head l) (length (log p) + length it) (published p pad it)
  | PFull =>
      match chain p with
      | [] => let (m', th) := fetch_add Homeless 1 m (pth p) in Some (m', count_homeless p th)
      | _ => write Relaxed (Dropped l) (S (dropped p)) (count_drop p)
      end
  | PEnd => None
  end.

(* ctp_thread_leave() *)
Definition pclose (o : orders) (l : nat) (m : memory) (p : producer)
  : option (memory * producer) :=
  match pc p, chain p with
  | PIdle, _ :: _ =>                                   (* (ctp-I) *)
      let (m', th) := store (o_state o) (State l) 2 m (pth p) in Some (m', at_pc p th PEnd)
  | _, _ => None
  end.

(* No chunk: it does not look any further. *)
Definition pgive_up (p : producer) : option producer :=
  match pc p with
  | PPop | PExtend => Some (at_pc p (pth p) PFull)
  | _ => None
  end.

(* ctp_lane_keep(), ctp_lane_take_over(): another thread, which acquires what this one has
   seen, continues in the lane: (ctp-P). *)
Definition pmove (p : producer) (by_thread : thread) : option producer :=
  match pc p with
  | PIdle =>
      Some (at_pc p (Thread (join (cur (pth p)) (cur by_thread))
                            (join (cur (pth p)) (acq by_thread)) (rel by_thread)) PIdle)
  | _ => None
  end.

Definition pdie (p : producer) : producer :=
  Producer (pth p) (pc p) true (chain p) (items p) (events p) (gap p) (dropped p) (homeless p).

(* ---- the collector: lane_reader.c, lane_scan.c ------------------------------------- *)

(* What it knows of a lane; struct drain_lane. *)
Record cursor := Cursor
  { adopted : list nat;        (* the chunks that it found, in order; it reads the last *)
    head : nat;                (* as the last look found it *)
    orphan : bool;             (* no more will come *)
    heard : bool;              (* its thread has died *)
    given : nat;               (* the number of chunks that it gave back *)
    lost : nat;                (* as the last look found it *)
    taken : nat;               (* records that it has read, or passed *)
    accepted : list item }.    (* what it has read, in order, without the padding *)

Definition cursor0 : cursor := Cursor [] 0 false false 0 0 0 [].

Inductive cpc :=
| CIdle
| CAdopt (l : nat) (last_look : bool)  (* lane_adopt(): the first chunk *)
| CHead (l : nat) (last_look : bool)   (* lane_look(): the head *)
| CLost (l : nat) (last_look : bool)   (* count_drops() *)
| CCopy (l : nat) (rs : item) (r : record)  (* copy_record(): records, part of the next one *)
| CGive (c : nat)                      (* ctp_pool_give(): the top *)
| CGiveLink (c top : nat)
| CGiveCas (c top : nat).

Record collector := Collector
  { cth : thread;
    doing : cpc;
    lane : nat -> cursor;
    corrupt : nat }.           (* lanes whose links or heads made no sense *)

Definition collector0 : collector := Collector thread0 CIdle (fun _ => cursor0) 0.

Inductive action :=
| Look (l : nat)               (* lane_look() *)
| Take (l : nat)               (* look_at_record(), lane_take() *)
| Turn (l : nat)               (* turn_over(), unused_chunk() *)
| Return (l : nat)             (* lane_return(), lane_release() *)
| Continue.

Definition goto (k : collector) (th : thread) (c : cpc) : collector :=
  Collector th c (lane k) (corrupt k).

Definition spoiled (k : collector) (th : thread) : collector :=
  Collector th CIdle (lane k) (S (corrupt k)).

Definition update (k : collector) (th : thread) (c : cpc) (l : nat) (u : cursor) : collector :=
  Collector th c (fun l' => if l =? l' then u else lane k l') (corrupt k).

Definition adopt (u : cursor) (c : nat) : cursor :=
  Cursor (adopted u ++ [c]) (head u) (orphan u) (heard u) (given u) (lost u) (taken u) (accepted u).

Definition set_head (u : cursor) (h : nat) : cursor :=
  Cursor (adopted u) h (orphan u) (heard u) (given u) (lost u) (taken u) (accepted u).

Definition set_lost (u : cursor) (nr : nat) (last_look : bool) : cursor :=
  Cursor (adopted u) (head u) (orphan u || last_look) (heard u) (given u) nr (taken u) (accepted u).

Definition accept (u : cursor) (rs : item) : cursor :=
  Cursor (adopted u) (head u) (orphan u) (heard u) (given u) (lost u) (taken u + length rs)
         (accepted u ++ [rs]).

(* lane_reader_advance() *)
Definition skip (u : cursor) (nr : nat) : cursor :=
  Cursor (adopted u) (head u) (orphan u) (heard u) (given u) (lost u) (taken u + nr) (accepted u).

Definition give_one (u : cursor) : cursor :=
  Cursor (adopted u) (head u) (orphan u) (heard u) (S (given u)) (lost u) (taken u) (accepted u).

Definition hear (u : cursor) : cursor :=
  Cursor (adopted u) (head u) (orphan u) true (given u) (lost u) (taken u) (accepted u).

(* The next chunk may be asked for: there are records in it, or there will be no more. *)
Definition may_turn (u : cursor) : bool :=
  (taken u =? room * length (adopted u)) && (given u <? length (adopted u))
  && ((taken u <? head u) || orphan u).

(* Its oldest chunk may go back: it was left, or all was read and no more will come. *)
Definition may_return (u : cursor) : bool :=
  (S (given u) <? length (adopted u))
  || (orphan u && (taken u =? head u) && (given u <? length (adopted u))).

Definition garbage (k : collector) (th : thread) (l : nat) : collector :=
  Collector th CIdle (fun l' => if l =? l' then skip (lane k l) 1 else lane k l') (S (corrupt k)).

(* look_at_record(), lane_take(): these records of lane l are copied. *)
Definition copied (k : collector) (th : thread) (l : nat) (rs : item) : collector :=
  let u := lane k l in
  let left := room - taken u mod room in
  let nr := followers (hd [] rs) in
  if is_pad (hd [] rs) then update k th CIdle l (skip u (Nat.min (head u - taken u) left))
  else if (nr <? left) && (nr <? head u - taken u) then
    if length rs =? S nr then update k th CIdle l (accept u rs) else goto k th (CCopy l rs [])
  else garbage k th l.

Definition cstep (o : orders) (a : action) (t : nat) (m : memory) (k : collector)
  : option (memory * collector) :=
  let read ord x f :=
    match load ord x t m (cth k) with
    | None => None
    | Some (v, th) => Some (m, f v th)
    end in
  match doing k, a with
  | CIdle, Look l =>                                   (* (ctp-I) *)
      let u := lane k l in
      read (o_state_look o) (State l) (fun v th =>
        goto k th (if v =? 0 then CIdle
                   else match adopted u with
                        | [] => CAdopt l ((v =? 2) || heard u)
                        | _ => CHead l ((v =? 2) || heard u)
                        end))
  | CIdle, Take l =>
      let u := lane k l in
      if (taken u <? head u)
         && (taken u <? room * length (adopted u))
      then Some (m, goto k (cth k) (CCopy l [] [])) else None
  | CIdle, Turn l =>
      let u := lane k l in
      if may_turn u then
        read Relaxed (Link (last (adopted u) 0)) (fun v th =>
          if negb (v =? 0) then update k th CIdle l (adopt u (v - 1))
          else if taken u <? head u then spoiled k th else goto k th CIdle)
      else None
  | CIdle, Return l =>
      let u := lane k l in
      if may_return u
      then Some (m, update k (cth k) (CGive (nth (given u) (adopted u) 0)) l (give_one u))
      else None
  | CAdopt l e, Continue =>
      read Relaxed (First l) (fun v th =>
        if v =? 0 then spoiled k th else update k th (CHead l e) l (adopt (lane k l) (v - 1)))
  | CHead l e, Continue =>                             (* (ctp-H) *)
      read (o_look o) (Head l) (fun v th =>
        if v <? taken (lane k l) then spoiled k th
        else update k th (CLost l e) l (set_head (lane k l) v))
  | CLost l e, Continue =>
      read Relaxed (Dropped l) (fun v th => update k th CIdle l (set_lost (lane k l) v e))
  | CCopy l rs r, Continue =>
      let u := lane k l in
      let n := taken u in
      read Relaxed (Word (nth (n / room) (adopted u) 0) (n mod room + length rs) (length r))
        (fun v th =>
           if S (length r) <? words then goto k th (CCopy l rs (r ++ [v]))
           else copied k th l (rs ++ [r ++ [v]]))
  | CGive c, Continue => read Relaxed Top (fun v th => goto k th (CGiveLink c v))
  | CGiveLink c top, Continue =>
      let (m', th) := store Relaxed (Link c) (number_of top) m (cth k) in
      Some (m', goto k th (CGiveCas c top))
  | CGiveCas c top, Continue =>                        (* (ctp-J) *)
      match cas (o_give o) Top top (top_of (S (tag_of top)) (S c)) m (cth k) with
      | Some (m', th) => Some (m', goto k th CIdle)
      | None => Some (m, goto k (cth k) (CGive c))
      end
  | _, _ => None
  end.

(* drain_orphans(): a death is a barrier, all that the thread has stored is visible. *)
Definition mourn (k : collector) (p : producer) (l : nat) : option collector :=
  match doing k with
  | CIdle =>
      Some (update k (Thread (join (cur (cth k)) (cur (pth p)))
                             (join (acq (cth k)) (cur (pth p))) (rel (cth k)))
                   CIdle l (hear (lane k l)))
  | _ => None
  end.

(* ---- together -------------------------------------------------------------------- *)

Record state := St { mem : memory; prod : nat -> producer; con : collector }.

Definition state0 : state := St memory0 (fun _ => producer0) collector0.

Inductive choice :=
| Go (l t : nat)
| Close (l : nat)
| GiveUp (l : nat)
| Move (l other : nat)
| Die (l : nat)
| Mourn (l : nat)
| Collect (a : action) (t : nat).

Definition set_producer (s : state) (l : nat) (p : producer) : state :=
  St (mem s) (fun l' => if l =? l' then p else prod s l') (con s).

Definition after (s : state) (l : nat) (r : option (memory * producer)) : option state :=
  match r with
  | None => None
  | Some (m, p) => Some (St m (fun l' => if l =? l' then p else prod s l') (con s))
  end.

Definition still (s : state) (l : nat) (r : option producer) : option state :=
  match r with None => None | Some p => Some (set_producer s l p) end.

Definition step (o : orders) (s : state) (c : choice) : option state :=
  let alive l (r : option state) := if dead (prod s l) then None else r in
  match c with
  | Go l t => alive l (after s l (pstep o l t (mem s) (prod s l)))
  | Close l => alive l (after s l (pclose o l (mem s) (prod s l)))
  | GiveUp l => alive l (still s l (pgive_up (prod s l)))
  | Move l other => alive l (still s l (pmove (prod s l) (pth (prod s other))))
  | Die l => alive l (Some (set_producer s l (pdie (prod s l))))
  | Mourn l =>
      if dead (prod s l) then
        match mourn (con s) (prod s l) l with
        | None => None
        | Some k => Some (St (mem s) (prod s) k)
        end
      else None
  | Collect a t =>
      match cstep o a t (mem s) (con s) with
      | None => None
      | Some (m, k) => Some (St m (prod s) k)
      end
  end.

Fixpoint run (o : orders) (s : state) (cs : list choice) : option state :=
  match cs with
  | [] => Some s
  | c :: rest =>
      match step o s c with
      | None => None
      | Some s' => run o s' rest
      end
  end.

(* A state that the programs with the code's orders can reach. *)
Definition reachable (s : state) : Prop := exists cs, run ours state0 cs = Some s.

End Programs.
