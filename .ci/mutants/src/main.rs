//! Writes all mutants that `cargo mutants --list --json` names into the files of a tree at once,
//! each behind the condition that it is the one asked for: so a tree is built once for all.
//!
//! `devarray-mutants TREE LIST.json DROPPED.txt` prints `number line file: name` for each that was
//! written. Mutants named in DROPPED.txt by number are left out, because they do not compile; so are
//! those in constants, of fields, and in conditions with `let`.

use std::{collections::HashMap, collections::HashSet, env, fs, ops::Range, path::Path};

use serde_json::Value;
use syn::{
    spanned::Spanned,
    visit::{self, Visit},
};

/// A mutant of the list.
struct Mutant {
    number: usize,
    genre: String,
    replacement: String,
    span: Range<usize>,
    name: String,
}

/// A place that mutants are behind: what is there becomes this.
enum Edit {
    /// Behind `{` of a body: these come first.
    Body(Vec<(usize, String)>),
    /// An expression: each of these stands for it.
    Whole(Vec<(usize, String)>),
    /// The guard of an arm, `None` if it has none: it does not hold.
    Arm(usize),
}

/// Finds what mutants mean in one file.
struct Finder<'a> {
    text: &'a str,
    /// The beginnings of lines.
    lines: Vec<usize>,
    by_span: HashMap<(usize, usize), Vec<&'a Mutant>>,
    edits: Vec<(Range<usize>, Edit)>,
    in_constant: usize,
}

impl Finder<'_> {
    fn at(&self, place: proc_macro2::LineColumn) -> usize {
        let line = self.lines[place.line - 1];
        self.text[line..].char_indices().nth(place.column).map_or(self.text.len(), |(at, _)| line + at)
    }

    fn range(&self, of: proc_macro2::Span) -> Range<usize> {
        self.at(of.start())..self.at(of.end())
    }

    fn mutants(&self, span: &Range<usize>, genre: &str) -> Vec<(usize, String)> {
        let all = self.by_span.get(&(span.start, span.end)).into_iter().flatten();
        all.filter(|m| m.genre == genre).map(|m| (m.number, m.replacement.clone())).collect()
    }

    /// A text on one line; none where a comment would take in what follows.
    fn flat(&self, range: Range<usize>) -> Option<String> {
        let text = &self.text[range];
        (!text.contains("//")).then(|| text.replace('\n', " "))
    }

    /// Changes a body whose type has a name: others have one value only.
    fn body(&mut self, signature: &syn::Signature, block: &syn::Block) {
        if self.text[self.range(signature.output.span())].contains("impl ") {
            return;
        }
        let (Some(first), Some(last)) = (block.stmts.first(), block.stmts.last()) else { return };
        let span = self.range(first.span()).start..self.range(last.span()).end;
        let found = self.mutants(&span, "FnValue");
        if !found.is_empty() {
            self.edits.push((span, Edit::Body(found)));
        }
    }

    fn constant(&mut self, visit: impl FnOnce(&mut Self)) {
        self.in_constant += 1;
        visit(self);
        self.in_constant -= 1;
    }
}

/// Whether a condition binds names.
fn binds(expression: &syn::Expr) -> bool {
    struct Lets(bool);
    impl Visit<'_> for Lets {
        fn visit_expr_let(&mut self, _: &syn::ExprLet) {
            self.0 = true;
        }
        fn visit_expr_block(&mut self, _: &syn::ExprBlock) {}
        fn visit_expr_if(&mut self, _: &syn::ExprIf) {}
        fn visit_expr_closure(&mut self, _: &syn::ExprClosure) {}
    }
    let mut lets = Lets(false);
    lets.visit_expr(expression);
    lets.0
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if item.sig.constness.is_some() {
            return self.constant(|finder| visit::visit_item_fn(finder, item));
        }
        self.body(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if item.sig.constness.is_some() {
            return self.constant(|finder| visit::visit_impl_item_fn(finder, item));
        }
        self.body(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.body(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.constant(|finder| visit::visit_item_const(finder, item));
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.constant(|finder| visit::visit_impl_item_const(finder, item));
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.constant(|finder| visit::visit_item_static(finder, item));
    }

    fn visit_type(&mut self, item: &'ast syn::Type) {
        self.constant(|finder| visit::visit_type(finder, item));
    }

    fn visit_pat(&mut self, item: &'ast syn::Pat) {
        self.constant(|finder| visit::visit_pat(finder, item));
    }

    fn visit_expr_repeat(&mut self, item: &'ast syn::ExprRepeat) {
        self.visit_expr(&item.expr);
        self.constant(|finder| finder.visit_expr(&item.len));
    }

    fn visit_expr_binary(&mut self, item: &'ast syn::ExprBinary) {
        let (whole, op) = (self.range(item.span()), self.range(item.op.span()));
        let found = self.mutants(&op, "BinaryOperator");
        if self.in_constant == 0 && !found.is_empty() && !binds(&item.left) && !binds(&item.right) {
            let sides = (self.flat(whole.start..op.start), self.flat(op.end..whole.end));
            if let (Some(left), Some(right)) = sides {
                let made = found.into_iter().map(|(n, op)| (n, format!("{left}{op}{right}"))).collect();
                self.edits.push((whole, Edit::Whole(made)));
            }
        }
        visit::visit_expr_binary(self, item);
    }

    fn visit_expr_unary(&mut self, item: &'ast syn::ExprUnary) {
        let (whole, op) = (self.range(item.span()), self.range(item.op.span()));
        let found = self.mutants(&op, "UnaryOperator");
        if let (0, false, Some(rest)) = (self.in_constant, found.is_empty(), self.flat(op.end..whole.end)) {
            let made = found.into_iter().map(|(n, op)| (n, format!("{op}{rest}"))).collect();
            self.edits.push((whole, Edit::Whole(made)));
        }
        visit::visit_expr_unary(self, item);
    }

    fn visit_arm(&mut self, item: &'ast syn::Arm) {
        if self.in_constant == 0 {
            let guard = item.guard.as_ref().map(|(_, guard)| guard);
            let guarded = guard.map(|guard| self.range(guard.span()));
            if let (Some(guard), Some(range)) = (guard, &guarded)
                && !binds(guard)
            {
                let found = self.mutants(range, "MatchArmGuard");
                if !found.is_empty() {
                    self.edits.push((range.clone(), Edit::Whole(found)));
                }
            }
            // The span of an arm may or may not include the comma.
            let whole = self.range(item.span());
            let key = |end| (whole.start, end);
            let listed = [whole.end, whole.end - 1].into_iter().find_map(|end| self.by_span.get(&key(end)));
            let number = listed.into_iter().flatten().find(|m| m.genre == "MatchArm").map(|m| m.number);
            if let (Some(number), None) = (number, &guarded) {
                let end = self.range(item.pat.span()).end;
                self.edits.push((end..end, Edit::Arm(number)));
            }
        }
        visit::visit_arm(self, item);
    }
}

/// The text with all edits, one inside the other; what stands for something is the original text.
fn edited(text: &str, edits: &[(Range<usize>, Edit)], range: Range<usize>) -> String {
    let (mut made, mut at, mut next) = (String::new(), range.start, 0);
    while next < edits.len() {
        let (span, edit) = &edits[next];
        let inside =
            next + 1..next + 1 + edits[next + 1..].iter().take_while(|(s, _)| s.start < span.end).count();
        made += &text[at..span.start];
        let rest = || edited(text, &edits[inside.clone()], span.clone());
        match edit {
            Edit::Body(all) => {
                for (number, value) in all {
                    made += &format!("if crate::mutant({number}) {{ return {value}; }} ");
                }
                made += &rest();
            }
            Edit::Whole(all) => {
                made += "(";
                for (number, other) in all {
                    made += &format!("if crate::mutant({number}) {{ {other} }} else ");
                }
                made += &format!("{{ {} }})", rest());
            }
            Edit::Arm(number) => made += &format!(" if !crate::mutant({number})"),
        }
        at = span.end;
        next = inside.end;
    }
    made + &text[at..range.end]
}

fn main() {
    let [tree, list, dropped] =
        env::args().skip(1).collect::<Vec<_>>().try_into().expect("TREE LIST DROPPED");
    let dropped = fs::read_to_string(dropped).unwrap_or_default();
    let dropped: HashSet<usize> =
        dropped.split_whitespace().filter_map(|number| number.parse().ok()).collect();
    let list: Vec<Value> =
        serde_json::from_str(&fs::read_to_string(list).expect("a list")).expect("as cargo mutants writes it");
    let mut by_file: HashMap<&str, Vec<(usize, &Value)>> = HashMap::new();
    for (number, mutant) in (1..).zip(&list).filter(|(number, _)| !dropped.contains(number)) {
        by_file.entry(mutant["file"].as_str().expect("a file")).or_default().push((number, mutant));
    }
    for (file, mutants) in by_file {
        let path = Path::new(&tree).join(file);
        let text = fs::read_to_string(&path).expect("a source");
        let lines: Vec<usize> =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let place = |place: &Value| {
            let number =
                |of: &str| usize::try_from(place[of].as_u64().expect("a number")).expect("it is small");
            let line = lines[number("line") - 1];
            text[line..].char_indices().nth(number("column") - 1).map_or(text.len(), |(at, _)| line + at)
        };
        let mutants: Vec<Mutant> = mutants
            .into_iter()
            .map(|(number, mutant)| Mutant {
                number,
                genre: mutant["genre"].as_str().expect("a genre").to_owned(),
                replacement: mutant["replacement"].as_str().expect("a text").to_owned(),
                span: place(&mutant["span"]["start"])..place(&mutant["span"]["end"]),
                name: mutant["name"].as_str().unwrap_or_default().to_owned(),
            })
            .collect();
        let mut by_span: HashMap<(usize, usize), Vec<&Mutant>> = HashMap::new();
        for mutant in &mutants {
            by_span.entry((mutant.span.start, mutant.span.end)).or_default().push(mutant);
        }
        let (edits, in_constant) = (Vec::new(), 0);
        let mut finder = Finder { text: &text, lines: lines.clone(), by_span, edits, in_constant };
        finder.visit_file(&syn::parse_file(&text).expect("a source of Rust"));
        let mut edits = finder.edits;
        edits.sort_by_key(|(span, edit)| {
            (span.start, std::cmp::Reverse(span.end), !matches!(edit, Edit::Body(_)))
        });
        let names: HashMap<usize, &str> = mutants.iter().map(|m| (m.number, &m.name[..])).collect();
        for (span, edit) in &edits {
            let numbers: Vec<usize> = match edit {
                Edit::Body(all) | Edit::Whole(all) => all.iter().map(|(number, _)| *number).collect(),
                Edit::Arm(number) => vec![*number],
            };
            let line = lines.partition_point(|&at| at <= span.start);
            numbers.iter().for_each(|number| println!("{number} {line} {file}: {}", names[number]));
        }
        fs::write(&path, edited(&text, &edits, 0..text.len())).expect("it is written");
    }
}
