(* SPDX-License-Identifier: MIT *)
(*
   Reuse.v - lanes that are used by one thread after another.

   A thread takes a lane that is free, resets its head, opens it, publishes records, and leaves it or
   dies; the collector reads the lane to its end, marks it free and gives it back; another thread
   takes it.  One step is one access to shared memory; docs/proof.md has the table from each
   step to its function.

   Any number of threads, lanes and uses of a lane.  Lane.v has the steps of a pool, and chunks; here
   the pool passes on the view of the give (the release of ctp_pool_give(), the acquire of
   ctp_pool_pop()), and a lane has all the memory that it needs, each record one word.
*)
Require Import Arith List Lia Bool.
Require Import Memory.
Import ListNotations.

Inductive place :=
| State (e : nat)              (* of lane e: 0 free, 1 open, 2 closed *)
| Head (e : nat)               (* records published *)
| Rec (e i : nat).             (* record i *)

Definition place_eq_dec (a b : place) : {a = b} + {a <> b}.
Proof. decide equality; apply Nat.eq_dec. Defined.

Definition place_eqb (a b : place) : bool := if place_eq_dec a b then true else false.

Lemma place_eqb_spec : forall a b, reflect (a = b) (place_eqb a b).
Proof. intros; unfold place_eqb; destruct (place_eq_dec a b); constructor; assumption. Qed.

#[global] Instance reuse_locations : Locations place :=
  { loc_eqb := place_eqb; loc_eqb_spec := place_eqb_spec }.

Notation view := (Memory.view place).
Notation memory := (Memory.memory place).
Notation thread := (Memory.thread place).

(* The code has all of these. *)
Record rules := Rules
  { r_open : order;            (* ctp_lane_open(): the state *)
    r_look : order;            (* lane_look(): the state *)
    r_reset : bool;            (* ctp_lane_open(): the head is 0 again *)
    r_free : bool;             (* lane_release(): the state is free before the lane is given back *)
    r_read : bool;             (* only a lane that is read to its end is given back *)
    r_pool : bool }.           (* the pool passes on what was seen *)

Definition ours : rules := Rules Ordered Ordered true true true true.

(* ---- threads --------------------------------------------------------------------- *)

Inductive tpc :=
| TIdle
| TReset (e : nat)             (* ctp_lane_open(): the head *)
| TOpen (e : nat)              (* the state *)
| TIn (e : nat)                (* it has the lane *)
| TPut (e v : nat)             (* ctp_record_put() *)
| TPub (e v : nat).            (* ctp_lane_publish() *)

Record worker := Worker { th : thread; pc : tpc; dead : bool }.

Inductive hold :=
| Fresh                        (* never used *)
| Pooled (v : view)            (* given back *)
| Taken (t : nat)              (* of thread t, not open *)
| Opened (t : nat)             (* t has it, or had it when it died *)
| Left (t : nat).              (* t has closed it *)

(* ---- the collector ------------------------------------------------------------------ *)

Record cursor := Cursor
  { seen : bool;               (* drain_lane.open *)
    head : nat;
    orphan : bool;             (* no more will come *)
    heard : bool;              (* its thread has died *)
    got : list nat }.          (* what was read since it was opened *)

Definition cursor0 : cursor := Cursor false 0 false false [].

Inductive cpc := CIdle | CHead (e : nat) (last_look : bool).

Record collector := Collector
  { cth : thread; doing : cpc; lane : nat -> cursor; corrupt : nat }.

Record state := St
  { mem : memory;
    work : nat -> worker;
    holder : nat -> hold;
    log : nat -> list nat;               (* ghost: published since the lane was opened *)
    base : nat -> nat;                   (* ghost: the state before that *)
    hbase : nat -> nat;                  (* ghost: the head that was reset *)
    past : nat -> list (list nat * list nat);  (* ghost: earlier uses: published, read *)
    con : collector }.

Definition state0 : state :=
  St memory0 (fun _ => Worker thread0 TIdle false) (fun _ => Fresh) (fun _ => []) (fun _ => 0)
     (fun _ => 0) (fun _ => []) (Collector thread0 CIdle (fun _ => cursor0) 0).

Definition upd {A} (g : nat -> A) (n : nat) (x : A) : nat -> A :=
  fun n' => if n =? n' then x else g n'.

Inductive choice :=
| Take (t e : nat)             (* ctp_pool_take() *)
| Go (t : nat)                 (* the next step of thread t *)
| Event (t v : nat)
| Leave (t : nat)              (* ctp_thread_leave() *)
| Die (t : nat)
| Mourn (e : nat)              (* drain_orphans() *)
| Look (e a : nat)             (* lane_look(): the state, at position a *)
| Continue (a : nat)           (* and the head *)
| Read (e a : nat)             (* lane_take() *)
| Free (e : nat).              (* lane_release() *)

Section Programs.

Variable o : rules.

Definition at_pc (s : state) (t : nat) (h : thread) (p : tpc) : state :=
  St (mem s) (upd (work s) t (Worker h p false)) (holder s) (log s) (base s) (hbase s) (past s)
     (con s).

Definition acquire (h : thread) (v : view) : thread :=
  Thread (join (cur h) v) (join (acq h) v) (rel h).

Definition take (s : state) (t e : nat) : option state :=
  let h := th (work s t) in
  let got h' :=
    Some (St (mem s) (upd (work s) t (Worker h' (TReset e) false)) (upd (holder s) e (Taken t))
             (log s) (base s) (hbase s) (past s) (con s)) in
  match pc (work s t), holder s e with
  | TIdle, Fresh => got h
  | TIdle, Pooled v => got (if r_pool o then acquire h v else h)
  | _, _ => None
  end.

Definition go (s : state) (t : nat) : option state :=
  let h := th (work s t) in
  match pc (work s t) with
  | TReset e =>
      if r_reset o then
        let (m, h') := store Relaxed (Head e) 0 (mem s) h in
        Some (St m (upd (work s) t (Worker h' (TOpen e) false)) (holder s) (log s) (base s)
                 (upd (hbase s) e (length (mem s (Head e)))) (past s) (con s))
      else Some (at_pc s t h (TOpen e))
  | TOpen e =>                                         (* (ctp-I) *)
      let (m, h') := store (r_open o) (State e) 1 (mem s) h in
      Some (St m (upd (work s) t (Worker h' (TIn e) false)) (upd (holder s) e (Opened t)) (log s)
               (base s) (hbase s) (past s) (con s))
  | TPut e v =>
      let (m, h') := store Relaxed (Rec e (length (log s e))) v (mem s) h in
      Some (St m (upd (work s) t (Worker h' (TPub e v) false)) (holder s) (log s) (base s)
               (hbase s) (past s) (con s))
  | TPub e v =>                                        (* (ctp-H) *)
      let (m, h') := store Ordered (Head e) (S (length (log s e))) (mem s) h in
      Some (St m (upd (work s) t (Worker h' (TIn e) false)) (holder s)
               (upd (log s) e (log s e ++ [v])) (base s) (hbase s) (past s) (con s))
  | _ => None
  end.

Definition event (s : state) (t v : nat) : option state :=
  match pc (work s t) with TIn e => Some (at_pc s t (th (work s t)) (TPut e v)) | _ => None end.

Definition leave (s : state) (t : nat) : option state :=
  match pc (work s t) with
  | TIn e =>                                           (* (ctp-I) *)
      let (m, h') := store Ordered (State e) 2 (mem s) (th (work s t)) in
      Some (St m (upd (work s) t (Worker h' TIdle false)) (upd (holder s) e (Left t)) (log s)
               (base s) (hbase s) (past s) (con s))
  | _ => None
  end.

Definition die (s : state) (t : nat) : state :=
  St (mem s) (upd (work s) t (Worker (th (work s t)) (pc (work s t)) true)) (holder s) (log s)
     (base s) (hbase s) (past s) (con s).

Definition with_con (s : state) (k : collector) : state :=
  St (mem s) (work s) (holder s) (log s) (base s) (hbase s) (past s) k.

Definition update (k : collector) (h : thread) (d : cpc) (e : nat) (u : cursor) : collector :=
  Collector h d (upd (lane k) e u) (corrupt k).

(* A death is a barrier: all that the thread has stored is visible. *)
Definition mourn (s : state) (e : nat) : option state :=
  let k := con s in
  match holder s e, doing k with
  | Opened t, CIdle =>
      if dead (work s t) then
        let u := lane k e in
        Some (with_con s (update k (acquire (cth k) (cur (th (work s t)))) CIdle e
                                 (Cursor (seen u) (head u) (orphan u) true (got u))))
      else None
  | _, _ => None
  end.

Definition look (s : state) (e a : nat) : option state :=
  let k := con s in
  let u := lane k e in
  match doing k, load (r_look o) (State e) a (mem s) (cth k) with
  | CIdle, Some (v, h) =>
      if v =? 0 then Some (with_con s (Collector h CIdle (lane k) (corrupt k)))
      else Some (with_con s (update k h (CHead e ((v =? 2) || heard u)) e
                                    (Cursor true (head u) (orphan u) (heard u) (got u))))
  | _, _ => None
  end.

Definition continue (s : state) (a : nat) : option state :=
  let k := con s in
  match doing k with
  | CHead e last_look =>                               (* (ctp-H) *)
      let u := lane k e in
      match load Ordered (Head e) a (mem s) (cth k) with
      | Some (v, h) =>
          if v <? length (got u)
          then Some (with_con s (Collector h CIdle (lane k) (S (corrupt k))))
          else Some (with_con s (update k h CIdle e
                 (Cursor true v (orphan u || last_look) (heard u) (got u))))
      | None => None
      end
  | CIdle => None
  end.

Definition read (s : state) (e a : nat) : option state :=
  let k := con s in
  let u := lane k e in
  match doing k, length (got u) <? head u, load Relaxed (Rec e (length (got u))) a (mem s) (cth k) with
  | CIdle, true, Some (v, h) =>
      Some (with_con s (update k h CIdle e
              (Cursor (seen u) (head u) (orphan u) (heard u) (got u ++ [v]))))
  | _, _, _ => None
  end.

Definition free (s : state) (e : nat) : option state :=
  let k := con s in
  let u := lane k e in
  match doing k with
  | CIdle =>
      if orphan u && (negb (r_read o) || (length (got u) =? head u)) then
        let (m, h) := if r_free o then store Relaxed (State e) 0 (mem s) (cth k)
                      else (mem s, cth k) in
        Some (St m (work s) (upd (holder s) e (Pooled (cur h))) (upd (log s) e [])
                 (upd (base s) e (length (mem s (State e)))) (hbase s)
                 (upd (past s) e (past s e ++ [(log s e, got u)]))
                 (update k h CIdle e cursor0))
      else None
  | _ => None
  end.

Definition actor_dead (s : state) (c : choice) : bool :=
  match c with
  | Take t _ | Go t | Event t _ | Leave t | Die t => dead (work s t)
  | _ => false
  end.

Definition step (s : state) (c : choice) : option state :=
  if actor_dead s c then None
  else match c with
       | Take t e => take s t e
       | Go t => go s t
       | Event t v => event s t v
       | Leave t => leave s t
       | Die t => Some (die s t)
       | Mourn e => mourn s e
       | Look e a => look s e a
       | Continue a => continue s a
       | Read e a => read s e a
       | Free e => free s e
       end.

Fixpoint run (s : state) (cs : list choice) : option state :=
  match cs with
  | [] => Some s
  | c :: rest => match step s c with None => None | Some s' => run s' rest end
  end.

Definition reachable (s : state) : Prop := exists cs, run state0 cs = Some s.

End Programs.
