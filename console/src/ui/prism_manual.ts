/** The manual mode of Prism, set before Prism is loaded. By default, Prism would change the HTML of the page. */

Object.assign(globalThis, { Prism: { manual: true } });
