(* SPDX-License-Identifier: MIT *)
(*
   LifeTorn.v - necessity: what the model allows when an order of the lives is missing.

   Runs on the machine of Memory.v, each executed step by step, and one with the code's
   orders: an entry is used twice, its second coroutine is handed over, and it is read, so
   that the theorems of LifeTheorems.v are not about nothing.
*)
Require Import Arith List Lia Bool.
Require Import Memory Life LifeInv LifeTheorems LifeEvents.
Import ListNotations.

(* Entries of four fields: the three that decide something, and one more. *)
Definition runs (o : orders) (cs : list choice) : option state := run 4 o state0 cs.

Definition no_begin_fence := Orders false Ordered Ordered true true false.
Definition relaxed_id := Orders true Relaxed Ordered true true false.
Definition relaxed_id_look := Orders true Ordered Relaxed true true false.
Definition no_readers_fence := Orders true Ordered Ordered false true false.
Definition no_handover_fence := Orders true Ordered Ordered true false false.

(* ---- the parts of a run -------------------------------------------------------------- *)

(* Thread @t begins a life in entry 0; its fields are @v, or @v + 1 for the state. *)
Definition begins (t v : nat) : list choice :=
  Start t 0 Begin :: Go t 0 0 0 :: repeat (Go t 0 0 v) 4 ++ [Go t 0 0 0; Go t 0 0 0].
Definition frees (t : nat) : list choice := [Start t 0 Free; Go t 0 0 0; Go t 0 0 0].

(* An event stores @v in field 3; the id, the time and the number are read at these positions. *)
Definition event_at (t v id ticks events : nat) : list choice :=
  [Start t 0 (Make Transition); Go t id 0 0; Go t 0 0 0; Go t 0 3 v; Next t 100;
   Go t ticks 0 0; Go t 0 0 0; Go t events 0 0; Go t 0 0 0; Next t 0].

(* A reader: the id, the fields, the fence, the id again. *)
Definition reads_at (t id : nat) (at_ : list nat) (again : nat) : list choice :=
  Start t 0 Look :: Go t id 0 0 :: map (fun a => Go t a 0 0) at_ ++ [Go t 0 0 0; Go t again 0 0].

(* Thread 0 has a coroutine, then another in the same entry. *)
Definition two_lives : list choice := Take 0 0 :: begins 0 10 ++ frees 0 ++ begins 0 20.

Definition leads_to (o : orders) (cs : list choice) (f : state -> bool) : bool :=
  match runs o cs with Some s => f s | None => false end.

Lemma led_to : forall o cs f, leads_to o cs f = true ->
  exists s, runs o cs = Some s /\ f s = true.
Proof.
  intros o cs f H; unfold leads_to in H; destruct (runs o cs) as [s|]; [eauto|discriminate].
Qed.

Definition same (a b : list nat) : bool := if list_eq_dec Nat.eq_dec a b then true else false.

Lemma same_eq : forall a b, same a b = true -> a = b.
Proof. intros a b; unfold same; destruct (list_eq_dec Nat.eq_dec a b); congruence. Qed.

(* The only copy so far. *)
Definition copy_is (s : state) (id : nat) (got : list nat) : bool :=
  match reads s with
  | [c] => (c_entry c =? 0) && (c_id c =? id) && same (c_fields c) got
  | _ => false
  end.

Lemma copy_is_eq : forall s id got, copy_is s id got = true -> reads s = [Copy 0 id got].
Proof.
  intros s id got; unfold copy_is; destruct (reads s) as [|[e i g] [|c r]]; try discriminate.
  cbn [c_entry c_id c_fields]; intro H. apply andb_true_iff in H; destruct H as [H F].
  apply andb_true_iff in H; destruct H as [E I].
  apply Nat.eqb_eq in E, I; apply same_eq in F; congruence.
Qed.

(* ---- with the code's orders ------------------------------------------------------------ *)

(* Thread 0 destroys its coroutine; thread 1 takes the entry from the pool and hands its
   coroutine to thread 2, which makes an event; thread 3 reads. *)
Definition handed_over : list choice :=
  Take 0 0 :: begins 0 10 ++ frees 0 ++ [Give 0 0; Take 1 0] ++ begins 1 20 ++ [Give 1 0; Take 2 0]
  ++ event_at 2 30 3 2 2 ++ reads_at 3 3 [3; 3; 3; 3] 3.

Definition is_handed_over (s : state) : bool :=
  copy_is s 2 [21; 100; 1; 30] && same (lives s 0) [1; 2]
  && match records s with
     | [r] => (r_id r =? 2) && (r_number r =? 0) && (r_ticks r =? 100)
     | _ => false
     end.

Definition read_after_hand_over (s : state) : Prop :=
  reads s = [Copy 0 2 [21; 100; 1; 30]] /\ lives s 0 = [1; 2]
  /\ exists r, records s = [r] /\ r_id r = 2 /\ r_number r = 0 /\ r_ticks r = 100.

Lemma read_found : forall o, leads_to o handed_over is_handed_over = true ->
  exists cs s, runs o cs = Some s /\ read_after_hand_over s.
Proof.
  intros o H; destruct (led_to _ _ _ H) as (s & R & F); exists handed_over, s; split; [assumption|].
  apply andb_true_iff in F; destruct F as [F E]; apply andb_true_iff in F; destruct F as [C L].
  split; [apply copy_is_eq; assumption|]; split; [apply same_eq; assumption|].
  destruct (records s) as [|r [|r' l]]; [discriminate| |discriminate]. exists r; split; [reflexivity|].
  apply andb_true_iff in E; destruct E as [E T]; apply andb_true_iff in E; destruct E as [I N].
  split; [|split]; apply Nat.eqb_eq; assumption.
Qed.

Theorem a_life_is_handed_over : forall o, o = fenced \/ o = multi_copy ->
  exists cs s, runs o cs = Some s /\ read_after_hand_over s.
Proof. intros o [-> | ->]; apply read_found; vm_compute; reflexivity. Qed.

(* ---- without one of them ------------------------------------------------------------------ *)

(* A copy has the id of one life, and a field that no store of this life left there. *)
Definition mixed (s : state) : Prop := exists c k f v, In c (reads s)
  /\ nth_error (lives s (c_entry c)) k = Some (c_id c)
  /\ nth_error (c_fields c) f = Some v /\ ~ stored s (c_entry c) k f v.

(* The values of field 3, and whose they are. *)
Definition third (s : state) (values lifes : list nat) : bool :=
  same (map val (mem s (Field 0 3))) values && same (whose s 0 3) lifes.

Lemma mixed_found : forall o cs id got k v values lifes,
  leads_to o cs (fun s => copy_is s id got && third s values lifes
    && match nth_error (lives s 0) k with Some i => i =? id | None => false end) = true ->
  nth_error got 3 = Some v ->
  (forall j, nth_error lifes j = Some k -> nth_error values (S j) <> Some v) ->
  exists cs s, runs o cs = Some s /\ mixed s.
Proof.
  intros o cs id got k v values lifes H G N.
  destruct (led_to _ _ _ H) as (s & R & F); exists cs, s; split; [assumption|].
  apply andb_true_iff in F; destruct F as [F L]; apply andb_true_iff in F; destruct F as [C T].
  apply copy_is_eq in C; apply andb_true_iff in T; destruct T as [T1 T2].
  apply same_eq in T1, T2.
  exists (Copy 0 id got), k, 3, v; cbn [c_entry c_id c_fields].
  split; [rewrite C; left; reflexivity|]; split.
  - destruct (nth_error (lives s 0) k); [|discriminate]. apply Nat.eqb_eq in L; congruence.
  - split; [assumption|]. intros (j & x & W & M & V). rewrite T2 in W.
    apply (N j W). rewrite <- T1, nth_error_map, M; cbn; congruence.
Qed.

Ltac by_cases := intros j; destruct j as [|[|[|j]]]; cbn; intros; try discriminate;
  try (destruct j; discriminate); congruence.

(* The second coroutine's field is seen, and its predecessor's end is not. *)
Definition early_field : list choice := two_lives ++ reads_at 3 1 [1; 1; 1; 2] 1.

Theorem necessity_of_begin_fence : exists cs s, runs no_begin_fence cs = Some s /\ mixed s.
Proof.
  apply (mixed_found _ early_field 1 [11; 10; 0; 20] 0 20 [0; 10; 20] [0; 1]);
    [vm_compute; reflexivity|reflexivity|by_cases].
Qed.

Theorem necessity_of_readers_fence : exists cs s, runs no_readers_fence cs = Some s /\ mixed s.
Proof.
  apply (mixed_found _ early_field 1 [11; 10; 0; 20] 0 20 [0; 10; 20] [0; 1]);
    [vm_compute; reflexivity|reflexivity|by_cases].
Qed.

(* The second coroutine's id is seen, and its field is not. *)
Definition late_field : list choice := two_lives ++ reads_at 3 3 [3; 2; 2; 1] 3.

Theorem necessity_of_id : exists cs s, runs relaxed_id cs = Some s /\ mixed s.
Proof.
  apply (mixed_found _ late_field 2 [21; 20; 0; 10] 1 10 [0; 10; 20] [0; 1]);
    [vm_compute; reflexivity|reflexivity|by_cases].
Qed.

Theorem necessity_of_id_look : exists cs s, runs relaxed_id_look cs = Some s /\ mixed s.
Proof.
  apply (mixed_found _ late_field 2 [21; 20; 0; 10] 1 10 [0; 10; 20] [0; 1]);
    [vm_compute; reflexivity|reflexivity|by_cases].
Qed.

(* The second coroutine is handed to thread 1; what thread 1 stores is seen, and the end of
   the first coroutine, which thread 1 has seen, is not. *)
Definition early_event : list choice :=
  two_lives ++ [Give 0 0; Take 1 0] ++ event_at 1 30 3 2 2 ++ reads_at 3 1 [1; 1; 1; 3] 1.

Theorem necessity_of_handover_fence : exists cs s, runs no_handover_fence cs = Some s /\ mixed s.
Proof.
  apply (mixed_found _ early_event 1 [11; 10; 0; 30] 0 30 [0; 10; 20; 30] [0; 1; 1]);
    [vm_compute; reflexivity|reflexivity|by_cases].
Qed.
