(* SPDX-License-Identifier: MIT *)
(*
   Slot.v - the programs: a writer of one station, and readers of it.

   They are written step by step as the code is; docs/proof.md has the table from
   each step to its function and the letter of its ordering.  One step is one access
   to shared memory.  What the state does not determine is in the choice: which
   thread takes a step, which message a load returns, what the reader's clock says, and
   whether the run ends.

   One writer, as many readers as there are numbers: a reader stores nothing, so
   readers do not interact; the collector is reader 0.

   Between two events the coroutine may be handed to another thread, by the program's own
   release and acquire.  That thread has seen what the writer has seen; its stores pass on
   nothing of it, unless ctp_fence_handover() comes first.  The model executes that fence at the
   hand-over, where it is needed, and not again before each event, which allows more.  On x86-64 and
   aarch64, where the fence is nothing, a hand-over passes on as much.
*)
Require Import Arith List Lia Bool.
Require Import Memory.
Import ListNotations.

(* ---- locations ---------------------------------------------------------- *)

(* The five fields of a slot that are accessed; ctp.h, struct ctp_epoch. *)
Inductive field := Seq | Time | Tid | Addr | Act.

Definition field_eqb (a b : field) : bool :=
  match a, b with
  | Seq, Seq | Time, Time | Tid, Tid | Addr, Addr | Act, Act => true
  | _, _ => false
  end.

Lemma field_eqb_spec : forall a b, reflect (a = b) (field_eqb a b).
Proof. destruct a, b; constructor; congruence. Qed.

(* A field of a slot of the station. *)
Notation loc := (nat * field)%type.

Definition slot_eqb (a b : loc) : bool :=
  (fst a =? fst b) && field_eqb (snd a) (snd b).

Lemma slot_eqb_spec : forall a b, reflect (a = b) (slot_eqb a b).
Proof.
  intros [i f] [j g]; unfold slot_eqb; simpl.
  destruct (Nat.eqb_spec i j), (field_eqb_spec f g); constructor; congruence.
Qed.

#[global] Instance slot_locations : Locations loc :=
  { loc_eqb := slot_eqb; loc_eqb_spec := slot_eqb_spec }.

Notation view := (Memory.view loc).
Notation memory := (Memory.memory loc).
Notation thread := (Memory.thread loc).

(* ---- event numbers, slots and seqs -------------------------------------- *)

Definition slots := 8.                                 (* CTP_SLOTS *)
Definition slot_of (k : nat) : nat := k mod slots.
Definition seq_of (k : nat) : nat := 2 * (k / slots) + 2.
Definition event_of (slot seq : nat) : nat := slot + slots * ((seq + 1) / 2 - 1).

(* ---- the writer: ctp_slot_write() --------------------------------------- *)

(* Ours is the order of slot.h. Naive is the order of cTP 0.x SDKs. Unfenced is Ours without
   ctp_fence_handover(). *)
Inductive discipline := Ours | Naive | Unfenced.

Inductive instr :=
| IStore (o : order) (l : loc) (v : nat)
| IFence.                                              (* store-store *)

Section Programs.

(* What the program writes: event k has these fields. *)
Variable ev : nat -> field -> nat.

Definition write (d : discipline) (k : nat) : list instr :=
  let here f := (slot_of k, f) in
  let payload f := IStore Relaxed (here f) (ev k f) in
  match d with
  | Ours | Unfenced =>
      [ IStore Relaxed (here Seq) (seq_of k - 1);
        IFence;                                        (* (ctp-A) *)
        payload Time; payload Tid; payload Addr; payload Act;
        IStore Ordered (here Seq) (seq_of k) ]         (* (ctp-B) *)
  | Naive =>
      [ IStore Ordered (here Seq) (seq_of k - 1);
        payload Addr; payload Tid; payload Time; payload Act;
        IStore Ordered (here Seq) (seq_of k) ]
  end.

(* About to do instruction wpc of event wk; the events before it are complete. *)
Record writer := Writer { wk : nat; wpc : nat; wth : thread }.
Definition writer0 : writer := Writer 0 0 thread0.

Definition wnext (d : discipline) (w : writer) (th : thread) : writer :=
  if S (wpc w) =? length (write d (wk w))
  then Writer (S (wk w)) 0 th
  else Writer (wk w) (S (wpc w)) th.

Definition wstep (d : discipline) (m : memory) (w : writer) : option (memory * writer) :=
  match nth_error (write d (wk w)) (wpc w) with
  | None => None
  | Some IFence => Some (m, wnext d w (fence_release (wth w)))
  | Some (IStore o l v) =>
      let (m', th) := store o l v m (wth w) in
      Some (m', wnext d w th)
  end.

(* Between two events another thread takes the coroutine over; then ctp_probe_put(). *)
Definition wmove (d : discipline) (w : writer) : option writer :=
  let seen := cur (wth w) in
  match wpc w with
  | 0 => Some (Writer (wk w) 0 (Thread seen seen match d with Ours => seen | _ => bottom end))
  | _ => None
  end.

(* ---- the reader: take_next() of station_scan.c, for an SDK writer --------------- *)

Inductive rpc :=
| RFirst                          (* ctp_slot_read(): s1 = seq *)
| RCopy (todo : list field)       (* ctp_slot_copy() *)
| RFence                          (* the load-load fence *)
| RCheck                          (* s2 = seq *)
| RSkip                           (* skip_missing(): what does the slot say? *)
| RCompany (e : nat) (second : option bool)
                                  (* has_company(): is event e - 2 there, too?  second:
                                     asked after the second look, with its "later" *)
| RLater (j : nat)                (* later_event_exists(): event next + 1 + j *)
| RAgain (later : bool).          (* skip_missing(): the slot once more *)

Definition payload_fields := [Time; Tid; Addr; Act].

(* An event that the reader hands on, and the number that the reader takes it for. *)
Record accepted := Accepted
  { a_event : nat; a_slot : nat; a_seq : nat; a_data : field -> nat }.

Record reader := Reader
  { rth : thread;
    pc : rpc;
    copied : field -> nat;        (* the private copy *)
    next : nat;                   (* cursor.next *)
    lost : nat;                   (* cursor.lost, as the code adds it up *)
    garbage : nat;                (* cursor.garbage, of take(): corrupt events *)
    junk : nat;                   (* and of note_junk(): corrupt seqs *)
    taken : list accepted;        (* handed to the sink, the latest first *)
    gone : list nat }.            (* ghost: which events were counted as lost *)

Definition reader0 : reader := Reader thread0 RFirst (fun _ => 0) 0 0 0 0 [] [].

Definition at_pc (r : reader) (th : thread) (p : rpc) : reader :=
  Reader th p (copied r) (next r) (lost r) (garbage r) (junk r) (taken r) (gone r).

Definition set_copied (r : reader) (th : thread) (f : field) (v : nat) (p : rpc) : reader :=
  Reader th p (fun g => if field_eqb f g then v else copied r g)
         (next r) (lost r) (garbage r) (junk r) (taken r) (gone r).

(* note_junk(), which counts a value only once. *)
Definition note_junk (r : reader) : reader :=
  Reader (rth r) (pc r) (copied r) (next r) (lost r) (garbage r) (S (junk r)) (taken r) (gone r).

(* count_lost(); then a new try. *)
Definition count_lost (r : reader) (th : thread) (nr : nat) : reader :=
  Reader th RFirst (copied r) (next r + nr) (lost r + nr) (garbage r) (junk r) (taken r)
         (List.seq (next r) nr ++ gone r).

(* take(): hand it on, unless it cannot be an event (corrupt). *)
Definition plausible (c : field -> nat) : bool := negb (c Time =? 0) && (c Act <=? 1).

Definition take (r : reader) (th : thread) : reader :=
  if plausible (copied r) then
    Reader th RFirst (copied r) (S (next r)) (lost r) (garbage r) (junk r)
           (Accepted (next r) (slot_of (next r)) (seq_of (next r)) (copied r) :: taken r)
           (gone r)
  else
    let r' := count_lost r th 1 in
    Reader th RFirst (copied r') (next r') (lost r') (S (garbage r)) (junk r') (taken r') (gone r').

Inductive slot_state := Ready | Idle | Writing | Beyond | Junk.

(* slot_state() of station_scan.c; @fits is seq_fits(), which asks the clock. *)
Definition state_of (next seq : nat) (fits : bool) : slot_state :=
  let want := seq_of next in
  if seq =? want then Ready
  else if seq =? (if 2 <? want then want - 2 else 0) then Idle
  else if seq =? want - 1 then Writing
  else if (want <? seq) && fits then Beyond
  else Junk.

(* @t: the message read.  @fits: is the seq believed?  @last: is this the last scan? *)
Definition rstep (d : discipline) (m : memory) (r : reader) (t : nat) (fits last : bool)
  : option reader :=
  let here f := (slot_of (next r), f) in
  let read o l k :=
    match load o l t m (rth r) with
    | None => None
    | Some (v, th) => Some (k v th)
    end in
  match pc r with
  | RFirst =>                                          (* (ctp-B) *)
      read Ordered (here Seq) (fun v th =>
        at_pc r th (if v =? seq_of (next r) then RCopy payload_fields else RSkip))
  | RCopy (f :: todo) =>
      read Relaxed (here f) (fun v th =>
        set_copied r th f v (match todo with [] => RFence | _ => RCopy todo end))
  | RCopy [] => None
  | RFence =>                                          (* (ctp-A) *)
      Some (at_pc r match d with Naive => rth r | _ => fence_acquire (rth r) end RCheck)
  | RCheck =>
      read (match d with Naive => Ordered | _ => Relaxed end) (here Seq) (fun v th =>
        if v =? seq_of (next r) then take r th else at_pc r th RSkip)
  | RSkip =>
      read Relaxed (here Seq) (fun v th =>
        match state_of (next r) v fits with
        | Ready => at_pc r th RFirst
        | Idle => at_pc r th (if last then RLater 0 else RFirst)
        | Beyond => at_pc r th (RCompany (event_of (slot_of (next r)) v) None)
        | Writing | Junk => at_pc r th (RLater 0)
        end)
  | RCompany e second =>                               (* (ctp-A), of event e - 1 *)
      match load Relaxed (slot_of (e - 2), Seq) t m (fence_acquire (rth r)) with
      | None => None
      | Some (v, th) =>
          let company := (seq_of (e - 2) <=? v) && fits in
          Some match second with
               | None => if company then count_lost r th (e - 7 - next r)
                         else at_pc r th (RLater 0)
               | Some later => if company then at_pc r th RFirst
                               else if later then count_lost (note_junk r) th 1
                               else at_pc (note_junk r) th RFirst
               end
      end
  | RLater j =>                                        (* (ctp-B), of a later event *)
      let k := next r + 1 + j in
      read Ordered (slot_of k, Seq) (fun v th =>
        at_pc r th (if (seq_of k <=? v) && fits then RAgain true
                    else if S j <? slots - 1 then RLater (S j) else RAgain false))
  | RAgain later =>
      read Relaxed (here Seq) (fun v th =>
        match state_of (next r) v fits with
        | Ready => at_pc r th RFirst
        | Beyond => at_pc r th (RCompany (event_of (slot_of (next r)) v) (Some later))
        | Junk => if later then count_lost (note_junk r) th 1 else at_pc (note_junk r) th RFirst
        | _ => if later then count_lost (note_junk r) th 1 else at_pc r th RFirst
        end)
  end.

(* ---- together ----------------------------------------------------------- *)

Record state := State { mem : memory; wr : writer; rd : nat -> reader }.

Definition state0 : state := State memory0 writer0 (fun _ => reader0).

Definition set_reader (s : state) (i : nat) (r : reader) : state :=
  State (mem s) (wr s) (fun j => if i =? j then r else rd s j).

Inductive choice :=
| CWrite
| CMove
| CRead (i t : nat) (fits last : bool).

(* The orders of both sides: the writer's and the readers'. *)
Definition step (dw dr : discipline) (s : state) (c : choice) : option state :=
  match c with
  | CWrite =>
      match wstep dw (mem s) (wr s) with
      | None => None
      | Some (m, w) => Some (State m w (rd s))
      end
  | CMove =>
      match wmove dw (wr s) with
      | None => None
      | Some w => Some (State (mem s) w (rd s))
      end
  | CRead i t fits last =>
      match rstep dr (mem s) (rd s i) t fits last with
      | None => None
      | Some r => Some (set_reader s i r)
      end
  end.

Fixpoint run (dw dr : discipline) (s : state) (cs : list choice) : option state :=
  match cs with
  | [] => Some s
  | c :: rest =>
      match step dw dr s c with
      | None => None
      | Some s' => run dw dr s' rest
      end
  end.

(* A state that the programs in the Ours order can reach. *)
Definition reachable (s : state) : Prop := exists cs, run Ours Ours state0 cs = Some s.

Lemma run_app : forall dw dr cs1 cs2 s s1,
  run dw dr s cs1 = Some s1 -> run dw dr s (cs1 ++ cs2) = run dw dr s1 cs2.
Proof.
  induction cs1 as [|c cs1 IH]; simpl; intros cs2 s s1 H.
  - congruence.
  - destruct (step dw dr s c); [eauto|discriminate].
Qed.

End Programs.
