/** The core of Prism, which has the types of the whole. */

declare module "prismjs/components/prism-core.js" {
  import * as Prism from "prismjs";
  export default Prism;
}

declare module "prismjs/components/*" {}
