(* SPDX-License-Identifier: MIT *)
(*
   Merge.v - the order in which the collector hands on the events of several lanes.

   Any number of threads, each with a lane, and of coroutines, which the program hands from thread
   to thread.  A thread reads the counter, makes the record and appends it to its lane; the
   record becomes visible to others later.  A poll of the collector reads the clock, then the
   number of lanes, then one head after the other; then it takes records, always of a lane
   that no other is earlier than, up to a moment before that time.  docs/proof.md has the table
   from each step to its function.

   Time is one counter for all threads.  What is assumed of it is in the steps:
     - a reading may be up to `early` ticks before its place in the program (Read);
     - a record that is visible when the collector looks at the head is seen (Look), and so is
       a lane that is open when it looks at the number of lanes (Count);
     - the program's hand-over of a coroutine is a release and an acquire: what its thread has
       written of it is visible before the other thread continues (Hand).
   Nothing is assumed of readings otherwise: the counter may stand still for any number of events,
   and a reading may be before the one that the thread has made last.  That the ticks of a lane
   do not decrease is what the writer does (Append), and a theorem (MergeInv.v: lanes_are_steady).
   The last poll has no such limit: then all threads have ended, and all is visible.

   That the records below a head are read whole is proven in LaneTheorems.v; here a record is
   one thing.  A wake-up, and any other event without a number, is here the only event of a coroutine:
   its time is that of the counter, or of the record before it.  A thread that takes over a lane
   continues as the thread before it.  Not here: the heap (a step takes any lane that no other
   is earlier than), lanes that are given back.
*)
Require Import Arith List Lia Bool.
Import ListNotations.

(* ---- the programs ------------------------------------------------------------- *)

(* An event: coroutine, its number there, its time; ghost: when the counter was read. *)
Record rec := Rec { co : nat; number : nat; ticks : nat; read_at : nat }.

(* What a poll does first: the clock; the number of lanes; the heads.  The code's is the first. *)
Inductive poll_order := ClockFirst | CountFirst | HeadsFirst.

Record rules := Rules
  { early : nat;               (* ticks that a reading may be before its place *)
    moment : nat;              (* ticks that a poll leaves out *)
    first : poll_order;
    forward : bool;            (* ctp_life_tick(): the times of a coroutine increase *)
    steady : bool;             (* ctp_lane_tick(): the times of a lane do not decrease *)
    handed : bool }.           (* a hand-over passes on what was written *)

Definition ours (e mo : nat) : rules := Rules e mo ClockFirst true true true.

Record program := Program
  { used : nat;                (* lanes that are open *)
    lane : nat -> list rec;
    shown : nat -> nat;        (* of lane l: records that are visible *)
    busy : nat -> option (nat * nat * nat);  (* thread l: coroutine, ticks, and when it read them *)
    holder : nat -> nat;       (* of coroutine c: its thread *)
    last : nat -> nat;         (* life.last_ticks *)
    count : nat -> nat;        (* life.events *)
    ended : bool }.

Inductive phase := Idle | Polled | Counted | Looking (k : nat) | Looked | Merging.

Record collector := Collector
  { doing : phase;
    limit : nat;
    lanes : nat;               (* as the poll found them *)
    head : nat -> nat;
    taken : nat -> nat;
    out : list rec;            (* what it has handed on *)
    polled_at : option nat;    (* ghost: None at the last poll *)
    polled_used : nat;         (* ghost: lanes and records that were there then *)
    polled_shown : nat -> nat;
    polled_out : nat }.        (* ghost: what was handed on before this poll *)

Record state := St { clock : nat; prog : program; con : collector }.

Definition state0 : state :=
  St 0 (Program 0 (fun _ => []) (fun _ => 0) (fun _ => None) (fun _ => 0) (fun _ => 0)
                (fun _ => 0) false)
     (Collector Idle 0 0 (fun _ => 0) (fun _ => 0) [] None 0 (fun _ => 0) 0).

Inductive choice :=
| Tick
| Open                         (* a thread begins, with the next lane *)
| Read (l c e : nat)           (* ctp_ticks(), e ticks too early *)
| Append (l : nat)             (* ctp_life_tick(), ctp_life_count(), ctp_record_put() *)
| Show (l : nat)               (* ctp_lane_publish(), visible *)
| Hand (c l : nat)
| End                          (* all threads have ended *)
| Poll                         (* drain_set_limit() *)
| PollLast (until : nat)       (* the same, after the end *)
| Count                        (* lanes_used() *)
| Look                         (* lane_look() *)
| Take (l : nat)               (* lane_take() *)
| Done.

Definition set {A : Type} (f : nat -> A) (k : nat) (v : A) : nat -> A :=
  fun k' => if k =? k' then v else f k'.

Section Programs.

Variable rule : rules.
Variable ns : nat -> nat.      (* lane_time(): ticks to ns, during one poll *)

Definition with_busy (p : program) (l : nat) (b : option (nat * nat * nat)) : program :=
  Program (used p) (lane p) (shown p) (set (busy p) l b) (holder p) (last p) (count p) (ended p).

Definition append (p : program) (l : nat) (r : rec) : program :=
  Program (used p) (set (lane p) l (lane p l ++ [r])) (shown p) (set (busy p) l None) (holder p)
          (set (last p) (co r) (ticks r)) (set (count p) (co r) (S (number r))) (ended p).

Definition show (p : program) (l : nat) : program :=
  Program (used p) (lane p) (set (shown p) l (S (shown p l))) (busy p) (holder p) (last p)
          (count p) (ended p).

Definition hand (p : program) (c l : nat) : program :=
  Program (used p) (lane p) (shown p) (busy p) (set (holder p) c l) (last p) (count p) (ended p).

Definition open (p : program) : program :=
  Program (S (used p)) (lane p) (shown p) (busy p) (holder p) (last p) (count p) (ended p).

Definition finish (p : program) : program :=
  Program (used p) (lane p) (shown p) (busy p) (holder p) (last p) (count p) true.

(* lane.last_ticks *)
Definition newest_ticks (h : list rec) : nat := ticks (List.last h (Rec 0 0 0 0)).

(* Thread l may let go of coroutine c: it has no event of c under way, and those are visible. *)
Definition may_hand (p : program) (c l : nat) : bool :=
  match busy p l with Some (c', _, _) => negb (c' =? c) | None => true end
  && (negb (handed rule)
      || forallb (fun r => negb (co r =? c)) (skipn (shown p l) (lane p l))).

Definition all_below (n : nat) (f : nat -> bool) : bool := forallb f (seq 0 n).

Definition quiet (p : program) : bool :=
  ended p && all_below (used p) (fun l => shown p l =? length (lane p l)).

Definition pstep (now : nat) (p : program) (c : choice) : option program :=
  match c with
  | Open => if ended p then None else Some (open p)
  | Read l c e =>
      match busy p l with
      | None =>
          if (l <? used p) && (holder p c =? l) && (e <=? early rule) && negb (ended p)
          then Some (with_busy p l (Some (c, now - e, now))) else None
      | Some _ => None
      end
  | Append l =>
      match busy p l with
      | Some (c, v, at_) =>
          let t := if steady rule then Nat.max v (newest_ticks (lane p l)) else v in
          let t := if forward rule then Nat.max t (S (last p c)) else t in
          Some (append p l (Rec c (count p c) t at_))
      | None => None
      end
  | Show l => if shown p l <? length (lane p l) then Some (show p l) else None
  | Hand c l =>
      if may_hand p c (holder p c) then Some (hand p c l) else None
  | End =>
      if all_below (used p) (fun l => match busy p l with None => true | _ => false end)
      then Some (finish p) else None
  | _ => None
  end.

(* ---- the collector ------------------------------------------------------------- *)

Definition next (p : program) (k : collector) (l : nat) : option rec :=
  if taken k l <? head k l then nth_error (lane p l) (taken k l) else None.

(* lane_earlier() *)
Definition earlier (a b : rec) : bool :=
  if ns (ticks a) =? ns (ticks b) then ticks a <? ticks b else ns (ticks a) <? ns (ticks b).

(* Lane l has a record that this poll may take. *)
Definition ready (p : program) (k : collector) (l : nat) : option rec :=
  match next p k l with
  | Some r => if ticks r <=? limit k then Some r else None
  | None => None
  end.

Definition goto (k : collector) (d : phase) : collector :=
  Collector d (limit k) (lanes k) (head k) (taken k) (out k) (polled_at k) (polled_used k)
            (polled_shown k) (polled_out k).

Definition polled (k : collector) (p : program) (d : phase) (lim : nat) (at_ : option nat) :=
  Collector d lim (lanes k) (head k) (taken k) (out k) at_ (used p) (shown p) (length (out k)).

Definition counted (k : collector) (d : phase) (n : nat) : collector :=
  Collector d (limit k) n (head k) (taken k) (out k) (polled_at k) (polled_used k)
            (polled_shown k) (polled_out k).

Definition looked (k : collector) (l n : nat) : collector :=
  Collector (Looking (S l)) (limit k) (lanes k) (set (head k) l n) (taken k) (out k)
            (polled_at k) (polled_used k) (polled_shown k) (polled_out k).

Definition hand_on (k : collector) (l : nat) (r : rec) : collector :=
  Collector Merging (limit k) (lanes k) (head k) (set (taken k) l (S (taken k l)))
            (out k ++ [r]) (polled_at k) (polled_used k) (polled_shown k) (polled_out k).

Definition after_clock : phase :=
  match first rule with ClockFirst => Polled | CountFirst => Looking 0 | HeadsFirst => Merging end.

Definition cstep (now : nat) (p : program) (k : collector) (c : choice) : option collector :=
  match c, doing k, first rule with
  | Poll, Idle, ClockFirst | Poll, Counted, CountFirst | Poll, Looked, HeadsFirst =>
      if moment rule <=? now then Some (polled k p after_clock (now - moment rule) (Some now))
      else None
  | PollLast until, Idle, ClockFirst =>
      if quiet p then Some (polled k p after_clock until None) else None
  | Count, Polled, ClockFirst => Some (counted k (Looking 0) (used p))
  | Count, Idle, CountFirst => Some (counted k Counted (used p))
  | Count, Idle, HeadsFirst => Some (counted k (Looking 0) (used p))
  | Look, Looking l, f =>
      if l <? lanes k then Some (looked k l (shown p l))
      else Some (goto k match f with HeadsFirst => Looked | _ => Merging end)
  | Take l, Merging, _ =>
      match ready p k l with
      | Some r =>
          if (l <? lanes k)
             && all_below (lanes k) (fun l' =>
                  match ready p k l' with Some r' => negb (earlier r' r) | None => true end)
          then Some (hand_on k l r) else None
      | None => None
      end
  | Done, Merging, _ => Some (goto k Idle)
  | _, _, _ => None
  end.

Definition step (s : state) (c : choice) : option state :=
  match c with
  | Tick => Some (St (S (clock s)) (prog s) (con s))
  | Open | Read _ _ _ | Append _ | Show _ | Hand _ _ | End =>
      match pstep (clock s) (prog s) c with
      | Some p => Some (St (clock s) p (con s))
      | None => None
      end
  | _ =>
      match cstep (clock s) (prog s) (con s) c with
      | Some k => Some (St (clock s) (prog s) k)
      | None => None
      end
  end.

Fixpoint run (s : state) (cs : list choice) : option state :=
  match cs with
  | [] => Some s
  | c :: rest => match step s c with Some s' => run s' rest | None => None end
  end.

Definition reachable (s : state) : Prop := exists cs, run state0 cs = Some s.

End Programs.

(* What was handed on of coroutine c. *)
Definition of_co (c : nat) (h : list rec) : list rec := filter (fun r => co r =? c) h.
