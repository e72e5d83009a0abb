/** Type declarations for the core of Prism, which has the same types as the whole package. */

declare module "prismjs/components/prism-core.js" {
  import * as Prism from "prismjs";
  export default Prism;
}

declare module "prismjs/components/*" {}
