// SPDX-License-Identifier: MIT
//! Tasks with variables that live across an .await, and what a look must find:
//! `local FUNCTION NAME KIND TEXT`.  KIND is value, length, members or absent.
use std::time::Duration;
use tokio::time::sleep;

const LONG: Duration = Duration::from_secs(3600);

#[derive(Clone, Copy)]
#[allow(dead_code)]
enum Color {
    Red,
    Green,
}

#[allow(dead_code)]
enum Shape {
    Empty,
    Circle(f64),
    Named { sides: u32, label: String },
}

struct Point {
    x: i32,
    y: f64,
}

fn say(function: &str, name: &str, kind: &str, text: impl std::fmt::Display) {
    println!("local {} {} {} {}", function, name, kind, text);
}

async fn inner(number: i64, text: String, slice: &str, secret: &'static str) -> usize {
    let wide: u64 = 1 << 63;
    let small: i8 = -5;
    let yes = number > 0;
    let letter = 'ä';
    let ratio = number as f32 / 4.0;
    let point = Point { x: -3, y: 2.5 };
    let color = Color::Green;
    let shape = Shape::Named { sides: 6, label: String::from("hexagon") };
    let circle = Shape::Circle(1.5);
    let some = Some(number as u16);
    let none: Option<u32> = None;
    let numbers = [1u32, 2, 3];
    let list: Vec<u32> = (0..number as u32).collect();
    let buffer = [0x41u8; 24];
    let password = String::from("Tr0ub4dor&3");
    let boxed = Box::new(7u32);
    {
        let gone = number * 1000;
        std::hint::black_box(&gone);
    }
    say("inner", "number", "value", number);
    say("inner", "text", "length", text.len());
    say("inner", "slice", "length", slice.len());
    say("inner", "secret", "length", secret.len());
    say("inner", "wide", "value", wide);
    say("inner", "small", "value", small);
    say("inner", "yes", "value", yes);
    say("inner", "letter", "value", letter);
    say("inner", "ratio", "value", ratio);
    say("inner", "point.x", "value", point.x);
    say("inner", "point.y", "value", point.y);
    say("inner", "color", "value", "Green");
    say("inner", "shape", "variant", "Named");
    say("inner", "shape.sides", "value", 6);
    say("inner", "shape.label", "length", 7);
    say("inner", "circle", "variant", "Circle");
    say("inner", "circle.__0", "value", 1.5);
    say("inner", "some", "variant", "Some");
    say("inner", "some.__0", "value", some.unwrap());
    say("inner", "none", "variant", "None");
    say("inner", "numbers", "length", numbers.len());
    say("inner", "numbers.1", "value", numbers[1]);
    say("inner", "list", "length", list.len());
    say("inner", "buffer", "length", buffer.len());
    say("inner", "password", "length", password.len());
    say("inner", "boxed", "value", format!("{:#x}", &*boxed as *const u32 as usize));
    say("inner", "gone", "absent", "-");
    say("inner", "later", "absent", "-");
    println!("expect 1 locals locals_outer");
    println!("ready");
    sleep(LONG).await; // @locals
    let later = wide as usize + small as usize + yes as usize + letter as usize + ratio as usize;
    std::hint::black_box((&point, &color, &shape, &circle, &some, &none, &numbers, &list, &buffer));
    std::hint::black_box((&password, &boxed, point.x, point.y));
    text.len() + slice.len() + secret.len() + later
}

async fn outer(depth: u32) -> usize {
    let owned = String::from("from outer");
    say("outer", "depth", "value", depth);
    say("outer", "owned", "length", owned.len());
    let got = inner(12, "hello".into(), &owned, "correct horse battery staple").await; // @locals_outer
    got + owned.len() + depth as usize
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let _ = tokio::spawn(outer(2)).await;
    });
}
