(* SPDX-License-Identifier: MIT *)
(*
   Life.v - the programs: threads that create, run, hand over, destroy and read coroutines.

   A coroutine has an entry of the table of coroutines (struct ctp_life) from its creation to its
   end; then the entry is another's.  The steps are those of ctp_life_begin(), ctp_life_suspend(),
   ctp_life_resume(), ctp_life_done(), ctp_life_end(), life_free() and life_read(); docs/proof.md
   has the table from each step to its function.  One step is one access to shared memory.

   Any number of threads, entries and fields.  A thread may hold any number of entries and
   coroutines; it may die before any step.  Any thread may read any entry at any time; the
   collector is one of the threads.

   Two kinds of hand-over pass on what a thread has seen, and nothing else of it:
     - a free entry goes through the pool (ctp-J), or stays in the thread's stash;
     - a coroutine goes to another thread by the program's own release and acquire.
   The view at the release is kept in the meantime.  A dead thread's coroutines go to the
   collector; a death is a barrier.

   More behaviours than the code has: an event may store any fields in any order; a coroutine
   may be freed without a record by any thread that has it.
   Not here: the pool itself (Lane.v has it for chunks), the lane that takes an event's
   record (Lane.v).  LifeWake.v adds wake-ups, which load the id of a coroutine that another thread has.
*)
Require Import Arith List Lia Bool.
Require Import Memory.
Import ListNotations.

(* ---- locations ------------------------------------------------------------- *)

Inductive place :=
| LastId                       (* of the region *)
| Id (e : nat)                 (* of entry e; 0: unused *)
| Field (e f : nat).           (* the others *)

Definition place_eq_dec (a b : place) : {a = b} + {a <> b}.
Proof. decide equality; apply Nat.eq_dec. Defined.

Definition place_eqb (a b : place) : bool := if place_eq_dec a b then true else false.

Lemma place_eqb_spec : forall a b, reflect (a = b) (place_eqb a b).
Proof. intros; unfold place_eqb; destruct (place_eq_dec a b); constructor; assumption. Qed.

#[global] Instance life_locations : Locations place :=
  { loc_eqb := place_eqb; loc_eqb_spec := place_eqb_spec }.

Notation view := (Memory.view place).
Notation memory := (Memory.memory place).
Notation thread := (Memory.thread place).

(* Three fields that decide something; all others are stored and copied like them. *)
Notation State := 0.                                   (* 0: unused *)
Notation Ticks := 1.                                   (* last_ticks *)
Notation Events := 2.                                  (* transitions *)

(* The orders; the code has all of them but one: see fenced and multi_copy below. *)
Record orders := Orders
  { o_begin : bool;            (* ctp_life_begin(): the store-store fence *)
    o_id : order;              (* and the store of the id *)
    o_look : order;            (* life_read(): the first load of the id *)
    o_fence : bool;            (* and the load-load fence *)
    o_handover : bool;         (* ctp_fence_handover() is a release fence *)
    o_multi : bool }.          (* no fence: a hand-over passes on the release view, too *)

(* C11, and machines like POWER. *)
Definition fenced : orders := Orders true Ordered Ordered true true false.
(* x86-64 and aarch64: a store becomes visible to all other threads at once. *)
Definition multi_copy : orders := Orders true Ordered Ordered true false true.

(* ---- threads ----------------------------------------------------------------- *)

Inductive kind := Transition | Return | Destroy.

Inductive tpc :=
| TIdle
| TFence (e : nat)                     (* ctp_life_begin() *)
| TBirth (e f : nat)                   (* field f *)
| TNumber (e : nat)                    (* last_id *)
| TName (e id : nat)                   (* the id *)
| TLook (e : nat) (a : kind)           (* ctp_suspend(), ctp_life_done(), ctp_life_end(): the id *)
| TEnter (e : nat) (a : kind) (id : nat)           (* ctp_fence_handover() *)
| TPut (e : nat) (a : kind) (id : nat)             (* state, addr, site *)
| TTick (e : nat) (a : kind) (id now : nat)        (* ctp_life_tick() *)
| TTicked (e : nat) (a : kind) (id ticks : nat)
| TCount (e : nat) (a : kind) (id ticks : nat)     (* ctp_life_count() *)
| TCounted (e id ticks nr : nat)
| TAfter (e : nat)                     (* resource, dropped *)
| TZero (e : nat)                      (* ctp_life_end(), life_free(): the id *)
| TZeroState (e : nat)
| TRead (e : nat)                      (* life_read() *)
| TCopy (e id : nat) (got : list nat)
| TReadFence (e id : nat) (got : list nat)
| TCheck (e id : nat) (got : list nat).

Record worker := Worker { th : thread; pc : tpc; dead : bool }.

(* Which thread has an entry: while it is unused, or while a coroutine has it. *)
Inductive hold :=
| Fresh                        (* never used *)
| Held (t : nat)               (* unused, in the stash of t, or t begins or ends a life *)
| Pooled (v : view)            (* unused, in the pool *)
| Alive (t : nat)              (* its coroutine is of thread t *)
| Adrift (v : view).           (* between two threads *)

(* The record of an event, as it is put into a lane or counted as lost. *)
Record event := Event
  { r_entry : nat; r_kind : kind; r_id : nat; r_number : nat; r_ticks : nat }.

(* What life_read() has returned. *)
Record copy := Copy { c_entry : nat; c_id : nat; c_fields : list nat }.

Record state := St
  { mem : memory;
    work : nat -> worker;
    holder : nat -> hold;
    lives : nat -> list nat;             (* ghost: by entry, the ids of its lives so far *)
    whose : nat -> nat -> list nat;      (* ghost: by entry and field, the life of each store *)
    records : list event;                (* the latest first *)
    reads : list copy }.

Definition state0 : state :=
  St memory0 (fun _ => Worker thread0 TIdle false) (fun _ => Fresh) (fun _ => [])
     (fun _ _ => []) [] [].

Definition upd {A} (g : nat -> A) (n : nat) (x : A) : nat -> A :=
  fun n' => if n =? n' then x else g n'.

Section Programs.

Variable fields : nat.                                 (* of an entry, but the id *)
Variable o : orders.

Definition at_pc (s : state) (t : nat) (h : thread) (p : tpc) : state :=
  St (mem s) (upd (work s) t (Worker h p false)) (holder s) (lives s) (whose s) (records s)
     (reads s).

(* Thread @t, which does nothing else now, gives or takes entry @e. *)
Definition pass (s : state) (t : nat) (h : thread) (e : nat) (g : hold) : state :=
  St (mem s) (upd (work s) t (Worker h TIdle false)) (upd (holder s) e g) (lives s) (whose s)
     (records s) (reads s).

Definition note (s : state) (r : event) : state :=
  St (mem s) (work s) (holder s) (lives s) (whose s) (r :: records s) (reads s).

(* A relaxed store of life @k to a field. *)
Definition put (s : state) (t e f v k : nat) (p : tpc) : state :=
  let (m, h) := store Relaxed (Field e f) v (mem s) (th (work s t)) in
  St m (upd (work s) t (Worker h p false)) (holder s) (lives s)
     (upd (whose s) e (upd (whose s e) f (whose s e f ++ [k]))) (records s) (reads s).

(* The life that an entry has now, or had last. *)
Definition life (s : state) (e : nat) : nat := length (lives s e) - 1.

Definition birth_value (f v : nat) : nat :=
  match f with State => S v | Events => 0 | _ => v end.

Definition may_put (f v : nat) : bool :=
  (f <? fields) && negb (f =? Ticks) && negb (f =? Events)
  && (negb (f =? State) || negb (v =? 0)).

Definition accepts (v id : nat) (got : list nat) : bool :=
  (v =? id) && negb (nth State got 0 =? 0).

Definition fence_if (b : bool) (h : thread) : thread := if b then fence_release h else h.

(* @at_: the message that a load returns.  @f, @v: what the program stores. *)
Definition go (s : state) (t at_ f v : nat) : option state :=
  let h := th (work s t) in
  let read ord x (k : nat -> thread -> state) :=
    match load ord x at_ (mem s) h with None => None | Some (w, h') => Some (k w h') end in
  match pc (work s t) with
  | TIdle => None
  | TFence e => Some (at_pc s t (fence_if (o_begin o) h) (TBirth e 0))           (* (ctp-M) *)
  | TBirth e g =>
      Some (put s t e g (birth_value g v) (length (lives s e))
                (if S g <? fields then TBirth e (S g) else TNumber e))
  | TNumber e =>
      let (m, h') := fetch_add LastId 1 (mem s) h in
      Some (St m (upd (work s) t (Worker h' (TName e (S (newest (mem s) LastId))) false))
               (holder s) (lives s) (whose s) (records s) (reads s))
  | TName e id =>                                                                 (* (ctp-M) *)
      let (m, h') := store (o_id o) (Id e) id (mem s) h in
      Some (St m (upd (work s) t (Worker h' TIdle false)) (upd (holder s) e (Alive t))
               (upd (lives s) e (lives s e ++ [id])) (whose s) (records s) (reads s))
  | TLook e a =>
      read Relaxed (Id e) (fun w h' => at_pc s t h' (if w =? 0 then TIdle else TEnter e a w))
  | TEnter e a id => Some (at_pc s t (fence_if (o_handover o) h) (TPut e a id))   (* (ctp-M) *)
  | TPut e a id => if may_put f v then Some (put s t e f v (life s e) (TPut e a id)) else None
  | TTick e a id now =>
      read Relaxed (Field e Ticks) (fun w h' => at_pc s t h' (TTicked e a id (Nat.max now (S w))))
  | TTicked e a id ticks => Some (put s t e Ticks ticks (life s e) (TCount e a id ticks))
  | TCount e a id ticks =>
      read Relaxed (Field e Events) (fun w h' =>
        match a with
        | Transition => at_pc s t h' (TCounted e id ticks w)
        | Return => note (at_pc s t h' TIdle) (Event e Return id w ticks)
        | Destroy => note (at_pc s t h' (TZero e)) (Event e Destroy id w ticks)
        end)
  | TCounted e id ticks nr =>
      Some (note (put s t e Events (S nr) (life s e) (TAfter e)) (Event e Transition id nr ticks))
  | TAfter e => if may_put f v then Some (put s t e f v (life s e) (TAfter e)) else None
  | TZero e =>
      let (m, h') := store Relaxed (Id e) 0 (mem s) h in
      Some (St m (upd (work s) t (Worker h' (TZeroState e) false)) (upd (holder s) e (Held t))
               (lives s) (whose s) (records s) (reads s))
  | TZeroState e => Some (put s t e State 0 (life s e) TIdle)
  | TRead e =>                                                                    (* (ctp-M) *)
      read (o_look o) (Id e) (fun w h' => at_pc s t h' (if w =? 0 then TIdle else TCopy e w []))
  | TCopy e id got =>
      read Relaxed (Field e (length got)) (fun w h' =>
        at_pc s t h' (if S (length got) <? fields then TCopy e id (got ++ [w])
                      else TReadFence e id (got ++ [w])))
  | TReadFence e id got =>                                                        (* (ctp-M) *)
      Some (at_pc s t (if o_fence o then fence_acquire h else h) (TCheck e id got))
  | TCheck e id got =>
      read Relaxed (Id e) (fun w h' =>
        let s' := at_pc s t h' TIdle in
        if accepts w id got
        then St (mem s') (work s') (holder s') (lives s') (whose s') (records s')
                (Copy e id got :: reads s)
        else s')
  end.

(* The fields of an event are stored: its time; or all of it is. *)
Definition next (s : state) (t now : nat) : option state :=
  match pc (work s t) with
  | TPut e a id => Some (at_pc s t (th (work s t)) (TTick e a id now))
  | TAfter e => Some (at_pc s t (th (work s t)) TIdle)
  | _ => None
  end.

Inductive begin := Begin | Make (a : kind) | Free | Look.

Definition start (s : state) (t e : nat) (b : begin) : option state :=
  let at_ p := Some (at_pc s t (th (work s t)) p) in
  match pc (work s t), b, holder s e with
  | TIdle, Look, _ => at_ (TRead e)
  | TIdle, Begin, Held t' => if t =? t' then at_ (TFence e) else None
  | TIdle, Make a, Alive t' => if t =? t' then at_ (TLook e a) else None
  | TIdle, Free, Alive t' => if t =? t' then at_ (TZero e) else None
  | _, _, _ => None
  end.

(* ---- hand-over ----------------------------------------------------------------- *)

Definition acquire (h : thread) (v : view) (passes : bool) : thread :=
  Thread (join (cur h) v) (join (acq h) v) (if passes then join (rel h) v else rel h).

(* ctp_life_give(), ctp_pool_give(); and the program's release. *)
Definition give (s : state) (t e : nat) : option state :=
  let h := th (work s t) in
  match pc (work s t), holder s e with
  | TIdle, Held t' => if t =? t' then Some (pass s t h e (Pooled (cur h))) else None
  | TIdle, Alive t' => if t =? t' then Some (pass s t h e (Adrift (cur h))) else None
  | _, _ => None
  end.

(* ctp_life_take(), ctp_pool_take(); the program's acquire; the collector after a death. *)
Definition take (s : state) (t e : nat) : option state :=
  let h := th (work s t) in
  match pc (work s t), holder s e with
  | TIdle, Fresh => Some (pass s t h e (Held t))
  | TIdle, Pooled v => Some (pass s t (acquire h v false) e (Held t))
  | TIdle, Adrift v => Some (pass s t (acquire h v (o_multi o)) e (Alive t))
  | TIdle, Alive d =>
      if dead (work s d)
      then Some (pass s t (acquire h (cur (th (work s d))) (o_multi o)) e (Alive t))
      else None
  | _, _ => None
  end.

Definition die (s : state) (t : nat) : state :=
  St (mem s) (upd (work s) t (Worker (th (work s t)) (pc (work s t)) true)) (holder s) (lives s)
     (whose s) (records s) (reads s).

(* ---- together -------------------------------------------------------------------- *)

Inductive choice :=
| Go (t at_ f v : nat)
| Next (t now : nat)
| Start (t e : nat) (b : begin)
| Give (t e : nat)
| Take (t e : nat)
| Die (t : nat).

Definition actor (c : choice) : nat :=
  match c with Go t _ _ _ | Next t _ | Start t _ _ | Give t _ | Take t _ | Die t => t end.

Definition step (s : state) (c : choice) : option state :=
  if dead (work s (actor c)) then None
  else match c with
       | Go t a f v => go s t a f v
       | Next t now => next s t now
       | Start t e b => start s t e b
       | Give t e => give s t e
       | Take t e => take s t e
       | Die t => Some (die s t)
       end.

Fixpoint run (s : state) (cs : list choice) : option state :=
  match cs with
  | [] => Some s
  | c :: rest => match step s c with None => None | Some s' => run s' rest end
  end.

Definition reachable (s : state) : Prop := exists cs, run state0 cs = Some s.

End Programs.
