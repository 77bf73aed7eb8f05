use tightwire::Wire;
use tightwire::stream::Vector;

#[derive(Clone, Copy)]
struct Wide([f32; 65]);

impl Vector<65> for Wide {
    fn to_array(self) -> [f32; 65] {
        self.0
    }
    fn from_array(components: [f32; 65]) -> Self {
        Self(components)
    }
}

#[derive(Wire)]
struct Player {
    #[wire(min = 0.0, max = 1.0, resolution = 0.1)]
    wide: Wide,
}

fn main() {}
