//! The tree of a program's objects, as folders and files that are made when they are read.
//!
//! Folders belong to objects, which are known by their address, or are only there for what is under
//! them. `F` is what a file is read and written by, `R` what fills a folder; neither is called here,
//! since both may change the tree: whoever calls them has let go of it.
#![forbid(unsafe_code)]

use std::collections::HashMap;

use super::status::{Error, Result};

/// Longest path, in bytes.
pub const PATH_MAX: usize = 4095;

type Id = u64;
const ROOT: Id = 0;

enum Kind<F, R> {
    /// With the object it stands for, and what fills it before it is read next.
    Folder {
        object: Option<usize>,
        refresh: Option<R>,
    },
    /// A folder that goes with the last thing in it.
    Passage,
    File(F),
    Link(Id),
}

struct Node<F, R> {
    kind: Kind<F, R>,
    parent: Id,
    path: String,
    /// The newest last.
    children: Vec<Id>,
    /// Links that lead here; they go when it goes.
    links: Vec<Id>,
}

/// The tree.
pub struct Tree<F, R> {
    nodes: HashMap<Id, Node<F, R>>,
    paths: HashMap<String, Id>,
    objects: HashMap<usize, Id>,
    next: Id,
}

/// What is at a path.
#[derive(Debug, PartialEq, Eq)]
pub enum Found<F> {
    /// So many things are in it.
    Folder(usize),
    /// What it is read by, and the object that it tells of.
    File(F, usize),
    /// The way to its target from the folder that it lies in.
    Link(String),
}

impl<F: Copy, R: Copy> Default for Tree<F, R> {
    fn default() -> Self {
        let root = Node {
            kind: Kind::Folder {
                object: None,
                refresh: None,
            },
            parent: ROOT,
            path: String::new(),
            children: Vec::new(),
            links: Vec::new(),
        };
        Tree {
            nodes: HashMap::from([(ROOT, root)]),
            paths: HashMap::new(),
            objects: HashMap::new(),
            next: ROOT + 1,
        }
    }
}

impl<F: Copy, R: Copy> Tree<F, R> {
    /// Adds a folder for `object` (0: for none) under that of `parent` (0: the root). A name that is
    /// taken is made one of its own by the object's address.
    ///
    /// # Errors
    /// `InvalidParam` if `parent` has no folder, `AlreadyExists` if the object has one.
    pub fn add_folder(&mut self, parent: usize, object: usize, name: &str) -> Result<()> {
        if self.objects.contains_key(&object) {
            crate::ucs_debug!("object {object:#x} of folder {name} has one already");
            return Err(Error::AlreadyExists);
        }
        let (folder, mut path) = self.place(parent, name)?;
        if self.paths.contains_key(&path) {
            path = format!("{path}_{object:#x}");
        }
        let object = (object != 0).then_some(object);
        let refresh = None;
        let id = self.add(folder, path, Kind::Folder { object, refresh })?;
        if let Some(object) = object {
            self.objects.insert(object, id);
        }
        Ok(())
    }

    /// Adds a file to the folder of `object` (0: to the root).
    ///
    /// # Errors
    /// `InvalidParam` if `object` has no folder, `AlreadyExists` if the name is taken.
    pub fn add_file(&mut self, object: usize, name: &str, file: F) -> Result<()> {
        let (folder, path) = self.place(object, name)?;
        self.add(folder, path, Kind::File(file)).map(|_| ())
    }

    /// Adds a link to the folder of `target`.
    ///
    /// # Errors
    /// As for files; `InvalidParam` too if `target` has no folder.
    pub fn add_link(&mut self, object: usize, target: usize, name: &str) -> Result<()> {
        let target = *self.objects.get(&target).ok_or(Error::InvalidParam)?;
        let (folder, path) = self.place(object, name)?;
        let link = self.add(folder, path, Kind::Link(target))?;
        if let Some(target) = self.nodes.get_mut(&target) {
            target.links.push(link);
        }
        Ok(())
    }

    /// Removes the folder of `object` with all that is in it, links to it, and the folders around it
    /// that are left empty and are no object's.
    pub fn remove(&mut self, object: usize) {
        if let Some(id) = self.objects.get(&object) {
            self.remove_node(*id);
        }
    }

    /// Has the folder of `object` filled before it is read next.
    pub fn set_dirty(&mut self, object: usize, by: R) {
        let id = self.objects.get(&object);
        if let Some(node) = id.and_then(|id| self.nodes.get_mut(id))
            && let Kind::Folder { refresh, .. } = &mut node.kind
        {
            *refresh = Some(by);
        }
    }

    /// What has to fill the folder at a path before it is read, with its object; it is clean then.
    pub fn take_dirty(&mut self, path: &str) -> Option<(R, usize)> {
        let id = self.paths.get(path)?;
        match &mut self.nodes.get_mut(id)?.kind {
            Kind::Folder { object, refresh } => {
                let refresh = refresh.take()?;
                Some((refresh, object.unwrap_or(0)))
            }
            _ => None,
        }
    }

    /// What is at a path. The root is listed, but not found.
    pub fn find(&self, path: &str) -> Option<Found<F>> {
        let node = self.nodes.get(self.paths.get(path)?)?;
        Some(match &node.kind {
            Kind::Folder { .. } | Kind::Passage => Found::Folder(node.children.len()),
            Kind::File(file) => Found::File(*file, self.object_around(node)),
            Kind::Link(target) => Found::Link(way(&node.path, &self.nodes.get(target)?.path)),
        })
    }

    /// The names in a folder, the newest first.
    pub fn list(&self, path: &str) -> Option<Vec<String>> {
        let id = match path {
            "/" => &ROOT,
            path => self.paths.get(path)?,
        };
        let node = self.nodes.get(id)?;
        if !matches!(node.kind, Kind::Folder { .. } | Kind::Passage) {
            return None;
        }
        let children = node.children.iter().rev();
        let paths = children.filter_map(|id| Some(&self.nodes.get(id)?.path));
        let name = |path: &String| path.rsplit('/').next().unwrap_or_default().to_owned();
        Some(paths.map(name).collect())
    }

    /// The object whose folder something is in.
    fn object_around(&self, node: &Node<F, R>) -> usize {
        let mut at = node.parent;
        while let Some(node) = self.nodes.get(&at) {
            match &node.kind {
                Kind::Passage => at = node.parent,
                Kind::Folder { object, .. } => return object.unwrap_or(0),
                _ => break,
            }
        }
        0
    }

    /// The folder of what is to be `name` under that of `object`, and the path. Folders between are
    /// made.
    fn place(&mut self, object: usize, name: &str) -> Result<(Id, String)> {
        let start = match object {
            0 => &ROOT,
            object => self.objects.get(&object).ok_or(Error::InvalidParam)?,
        };
        let (mut at, mut path) = (*start, self.path(*start)?);
        if path.len() + 1 + name.len() > PATH_MAX {
            return Err(Error::ExceedsLimit);
        }
        let mut steps = name.split('/').peekable();
        while let Some(step) = steps.next() {
            path.push('/');
            path.push_str(step);
            if steps.peek().is_none() {
                break;
            }
            at = match self.paths.get(&path) {
                Some(known) => *known,
                None => self.add(at, path.clone(), Kind::Passage)?,
            };
        }
        Ok((at, path))
    }

    fn path(&self, id: Id) -> Result<String> {
        let node = self.nodes.get(&id).ok_or(Error::InvalidParam)?;
        Ok(node.path.clone())
    }

    fn add(&mut self, folder: Id, path: String, kind: Kind<F, R>) -> Result<Id> {
        if self.paths.contains_key(&path) {
            return Err(Error::AlreadyExists);
        }
        let parent = self.nodes.get_mut(&folder).ok_or(Error::InvalidParam)?;
        if !matches!(parent.kind, Kind::Folder { .. } | Kind::Passage) {
            return Err(Error::AlreadyExists);
        }
        let id = self.next;
        self.next += 1;
        parent.children.push(id);
        self.paths.insert(path.clone(), id);
        let node = Node {
            kind,
            parent: folder,
            path,
            children: Vec::new(),
            links: Vec::new(),
        };
        self.nodes.insert(id, node);
        Ok(id)
    }

    /// Without recursion: how deep a tree is, is its user's choice.
    fn remove_node(&mut self, first: Id) {
        let mut goes = vec![first];
        while let Some(id) = goes.pop() {
            let Some(node) = self.nodes.remove(&id) else {
                continue;
            };
            self.paths.remove(&node.path);
            match node.kind {
                Kind::Folder { object, .. } => {
                    object.map(|object| self.objects.remove(&object));
                }
                Kind::Link(target) => {
                    if let Some(target) = self.nodes.get_mut(&target) {
                        target.links.retain(|link| *link != id);
                    }
                }
                Kind::File(_) | Kind::Passage => {}
            }
            goes.extend(node.children);
            goes.extend(node.links);
            if let Some(parent) = self.nodes.get_mut(&node.parent) {
                parent.children.retain(|child| *child != id);
                if parent.children.is_empty() && matches!(parent.kind, Kind::Passage) {
                    goes.push(node.parent);
                }
            }
        }
    }
}

/// The way from the folder of the file at `from` to `to`.
fn way(from: &str, to: &str) -> String {
    let (from, to): (Vec<_>, Vec<_>) = (from.split('/').collect(), to.split('/').collect());
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let mut steps = vec![".."; from.len().saturating_sub(common + 1)];
    steps.extend(&to[common..]);
    steps.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    type Plain = Tree<u32, u8>;

    #[test]
    fn folders_files_and_links() {
        let mut tree = Plain::default();
        tree.add_folder(0, 0x10, "a/b").expect("a folder");
        tree.add_folder(0x10, 0x20, "c").expect("a folder in it");
        tree.add_file(0x20, "x/y", 7).expect("a file");
        tree.add_link(0x20, 0x10, "up").expect("a link");
        tree.add_folder(0, 0x30, "z").expect("another");
        tree.add_link(0x20, 0x30, "over").expect("a link");
        assert_eq!(tree.find("/a"), Some(Found::Folder(1)));
        assert_eq!(tree.find("/a/b/c/x/y"), Some(Found::File(7, 0x20)));
        let over = Found::Link("../../../z".to_owned());
        assert_eq!(tree.find("/a/b/c/over"), Some(over));
        assert_eq!(tree.find("/a/b/c/up"), Some(Found::Link("..".to_owned())));
        assert_eq!(
            tree.list("/a/b/c"),
            Some(vec!["over".into(), "up".into(), "x".into()])
        );
        assert_eq!(tree.list("/"), Some(vec!["z".into(), "a".into()]));
        assert_eq!(tree.find("/"), None);
        tree.remove(0x30);
        assert_eq!(tree.find("/a/b/c/over"), None);
        tree.remove(0x10);
        assert_eq!(tree.list("/"), Some(vec![]));
        assert!(tree.paths.is_empty() && tree.objects.is_empty() && tree.nodes.len() == 1);
    }

    #[test]
    fn what_is_refused() {
        let mut tree = Plain::default();
        assert_eq!(tree.add_folder(1, 2, "a"), Err(Error::InvalidParam));
        assert_eq!(tree.add_file(1, "a", 0), Err(Error::InvalidParam));
        assert_eq!(tree.add_link(0, 1, "a"), Err(Error::InvalidParam));
        tree.add_folder(0, 1, "a").expect("a folder");
        assert_eq!(tree.add_folder(0, 1, "a"), Err(Error::AlreadyExists));
        assert_eq!(tree.add_file(0, "a", 0), Err(Error::AlreadyExists));
        tree.add_file(1, "f", 0).expect("a file");
        assert_eq!(tree.add_file(1, "f/g", 0), Err(Error::AlreadyExists));
        tree.add_folder(0, 2, "a").expect("by another name");
        assert_eq!(tree.find("/a_0x2"), Some(Found::Folder(0)));
        let long = "x".repeat(PATH_MAX);
        assert_eq!(tree.add_file(1, &long, 0), Err(Error::ExceedsLimit));
    }

    #[test]
    fn a_folder_is_filled_once_when_it_is_dirty() {
        let mut tree = Plain::default();
        tree.add_folder(0, 1, "a").expect("a folder");
        assert_eq!(tree.take_dirty("/a"), None);
        tree.set_dirty(1, 5);
        assert_eq!(tree.take_dirty("/a"), Some((5, 1)));
        assert_eq!(tree.take_dirty("/a"), None);
    }

    #[test]
    fn a_deep_tree_goes() {
        let mut tree = Plain::default();
        for at in 0..1000 {
            tree.add_folder(at, at + 1, "d").expect("a folder");
        }
        tree.remove(1);
        assert_eq!(tree.nodes.len(), 1);
    }
}
